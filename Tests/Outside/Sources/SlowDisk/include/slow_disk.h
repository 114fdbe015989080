/// How long each write to a file takes, in microseconds.
void set_slow_disk(unsigned microseconds);
