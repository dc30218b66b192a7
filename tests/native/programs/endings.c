/* Launches 50 times, lets the layer write, and ends in the way that the first argument names. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static struct world world;

static void launch_all(int count)
{
    for (int i = 0; i < count; i++)
        launch(&world, 16);
    CHECK(CL(clFinish)(world.queue));
}

static void release_at_exit(void)
{
    release_world(&world);
}

static void *exit_in_thread(void *argument)
{
    (void)argument;
    exit(3);
}

static void handle_fault(int signal_number)
{
    (void)signal_number;
    static const char text[] = "handled\n";
    if (write(1, text, sizeof text - 1) > 0)
        _exit(5);
}

static void close_descriptors(void)
{
    for (int descriptor = 3; descriptor < 1024; descriptor++)
        close(descriptor);
    /* Others now get the numbers. */
    for (int i = 0; i < 300; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            exit(7);
}

static int fork_and_launch(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        /* PoCL's threads do not exist in the child: only calls that need none. */
        cl_int error;
        const cl_mem buffer = CL(clCreateBuffer)(world.context, 1, 256, NULL, &error);
        CHECK(error);
        RELEASE("MemObject", buffer);
        CL(clFlush)(world.queue);
        exit(6);
    }
    waitpid(child, &status, 0);
    launch_all(10);
    release_world(&world);
    return WEXITSTATUS(status);
}

static void end(const char *way, char **argv)
{
    pthread_t thread;
    if (strcmp(way, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(way, "fault") == 0)
        *(volatile int *)1 = 0;
    if (strcmp(way, "handled-fault") == 0) {
        signal(SIGSEGV, handle_fault);
        *(volatile int *)1 = 0;
    }
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "_exit") == 0)
        _exit(4);
    if (strcmp(way, "thread") == 0) {
        pthread_create(&thread, NULL, exit_in_thread, NULL);
        pause();
    }
    if (strcmp(way, "exec") == 0) {
        char *const words[] = {argv[0], (char *)"return", NULL};
        execv(argv[0], words);
    }
    if (strcmp(way, "daemon") == 0) {
        close_descriptors();
        launch_all(25);
        release_world(&world);
    }
    if (strcmp(way, "fork") == 0)
        exit(fork_and_launch());
    if (strcmp(way, "late-release") == 0)
        atexit(release_at_exit);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    if (strcmp(argv[1], "late-release") == 0)
        end(argv[1], argv); /* before the layer registers its own end */
    world = make_world(0);
    launch_all(50);
    usleep(150000);
    if (strcmp(argv[1], "late-release") != 0)
        end(argv[1], argv);
    if (strcmp(argv[1], "return") == 0)
        release_world(&world);
    return 2;
}
