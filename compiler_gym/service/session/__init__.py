"""Sessions of a service, from the point of view of a client."""
