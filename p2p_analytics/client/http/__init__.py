"""HTTP half of the client: transport, adapter, deadline, throttle, error mapping and response cache."""
