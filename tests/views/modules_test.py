"""The modules by which programs written for former releases import the views."""
