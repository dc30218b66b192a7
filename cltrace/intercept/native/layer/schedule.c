#include "schedule.h"

#include <stdio.h>

#include "layer.h"
#include "records.h"
#include "settings.h"

static atomic_bool is_by_hand;

static void set_gate(int state)
{
    if (!recording_is_over())
        atomic_store(&recording_gate, state);
}

void schedule_begin(void)
{
    atomic_store(&is_by_hand, settings.starts_paused);
    if (settings.starts_paused)
        set_gate(0);
    else
        schedule_follow(now_host_ns());
}

void schedule_follow(int64_t now_ns)
{
    if (atomic_load(&is_by_hand))
        return;
    const int64_t from_ns = settings.began_host_ns + settings.delay_ns;
    const bool is_early = now_ns < from_ns;
    const bool is_late = settings.duration_ns >= 0 && now_ns >= from_ns + settings.duration_ns;
    set_gate(!is_early && !is_late);
}

void schedule_limit(int64_t commands)
{
    char message[96];
    if (settings.max_commands < 0 || commands < settings.max_commands || !is_recording())
        return;
    schedule_pause();
    snprintf(message, sizeof message, "recording paused after %lld commands (--max-events %lld)",
             (long long)commands, (long long)settings.max_commands);
    record_diagnostic("note", "limit-reached", message);
}

void schedule_pause(void)
{
    atomic_store(&is_by_hand, true);
    set_gate(0);
}

void schedule_resume(void)
{
    atomic_store(&is_by_hand, true);
    set_gate(1);
}
