"""How the searches of a study run: jobs, the store, and executors in this process or others."""
