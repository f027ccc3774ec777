"""HTTP half of the client: transport, retry rule, adapter, deadline, throttle, error mapping and response cache."""
