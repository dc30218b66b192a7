/* Runs a command and writes the wall time and the CPU time of it and of all that it waited for.

   Usage: meter REPORT COMMAND... REPORT gets two numbers, in ns. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long ns_of(struct timeval time)
{
    return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const long long begin_ns = now_ns();
    const pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    int status;
    struct rusage used;
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
        return 1;
    const long long wall_ns = now_ns() - begin_ns;
    FILE *report = fopen(argv[1], "w");
    if (report == NULL)
        return 1;
    fprintf(report, "%lld %lld\n", wall_ns, ns_of(used.ru_utime) + ns_of(used.ru_stime));
    fclose(report);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
