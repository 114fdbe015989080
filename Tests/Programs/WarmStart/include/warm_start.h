// Preloaded, not called: see warm_start.c.
