"""Transport of messages to services, by gRPC or the direct channel, and transport errors."""
