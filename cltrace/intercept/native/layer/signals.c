#include "signals.h"

#include <pthread.h>
#include <time.h>

sigset_t block_size_signal(void)
{
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    return before;
}

void restore_signals(const sigset_t *before)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    if (!sigismember(before, SIGXFSZ))
        sigtimedwait(&blocked, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
