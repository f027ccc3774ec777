"""Running the service: middleware, the reset lock, the server thread and the request log."""
