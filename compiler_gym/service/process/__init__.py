"""A service as a process of this machine: started, watched, ended, and tidied up after."""
