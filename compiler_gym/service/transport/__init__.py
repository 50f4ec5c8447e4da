"""How messages get to a service beside gRPC, and what their failures mean."""
