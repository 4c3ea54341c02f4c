/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "systemd/service-manager.h"

/* The fine history, with the readings caused by clients, gets a quarter of the memory. */
#define FINE_SHARE 4
#define FINE_INTERVAL_NS NSEC_PER_SEC
#define FINE_KEEP_NS (300 * NSEC_PER_SEC)

/* Maximum delay of a recorded reading. Intervals need not be exact, because the length of each interval is recorded. */
#define ACCURACY_USEC 50000

struct recorder {
    const struct snapshot *(*read)(void *userdata);
    void *userdata;
    sd_event_source *timer;
    struct config_history settings; /* settings for which `block` was made */
    void *block;                    /* memory of the histories, or NULL if nothing is recorded */
    int adopted;                    /* descriptor of a file from an earlier process; -1 without such a file */
    struct histories histories;
};

static void stop(struct recorder *recorder)
{
    timer_disarm(recorder->timer);
    history_free(recorder->histories.coarse);
    history_free(recorder->histories.fine);
    recorder->histories = (struct histories){0};
    if (recorder->block)
        munmap(recorder->block, recorder->settings.memory);
    recorder->block = NULL;
}

/* Records a reading in both histories. A failure leaves a gap. */
static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct recorder *recorder = userdata;

    (void)usec;
    timer_arm_in(source, recorder->settings.interval_ns / NSEC_PER_USEC);
    const struct snapshot *snapshot = recorder->read(recorder->userdata);
    (void)history_record(recorder->histories.coarse, snapshot);
    recorder_take(recorder, snapshot);
    return 0;
}

int recorder_new(sd_event *event, const struct snapshot *(*read)(void *userdata), void *userdata, struct recorder **ret)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));

    if (!recorder)
        return -ENOMEM;
    recorder->adopted = -1;
    recorder->read = read;
    recorder->userdata = userdata;
    int r = timer_init(event, CLOCK_MONOTONIC, ACCURACY_USEC, on_timer, recorder, &recorder->timer);
    if (r < 0) {
        recorder_free(recorder);
        return r;
    }
    *ret = recorder;
    return 0;
}

struct recorder *recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return NULL;
    stop(recorder);
    closep(&recorder->adopted);
    sd_event_source_disable_unref(recorder->timer);
    free(recorder);
    return NULL;
}

void recorder_adopt(struct recorder *recorder, int fd)
{
    closep(&recorder->adopted);
    recorder->adopted = fd;
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/*
 * Returns whether the file has this size and is sealed against resizing. Without the seal, another holder of the
 * descriptor could truncate the file, and this process would get SIGBUS.
 */
static bool is_usable(int fd, size_t size)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (uint64_t)st.st_size == size && (fcntl(fd, F_GET_SEALS) & SEALS) == SEALS;
}

/*
 * Creates a memory file that can outlive this process. Returns -1 if the kernel does not support sealed memory files.
 */
static int make_file(size_t size)
{
    _cleanup_(closep) int fd = memfd_create("perfcountd-history", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return -1;
    return steal_fd(&fd);
}

/*
 * Maps the histories' memory, from a file only if there is a service manager, because nothing else would keep the file.
 */
static void *map_block(struct recorder *recorder, size_t size)
{
    _cleanup_(closep) int fd = steal_fd(&recorder->adopted);
    bool stored = fd >= 0 && is_usable(fd, size);

    if (!stored) {
        closep(&fd);
        fd = notify_is_received() ? make_file(size) : -1;
    }
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (block != MAP_FAILED && fd >= 0 && !stored)
        notify_store(fd);
    return block;
}

static int start(struct recorder *recorder, const struct config_history *settings)
{
    size_t size = settings->memory, fine = size / FINE_SHARE / 8 * 8;
    void *block = map_block(recorder, size);

    if (block == MAP_FAILED)
        return -ENOMEM;
    recorder->block = block;
    recorder->settings = *settings;
    recorder->histories.interval_ns = settings->interval_ns;
    int r =
        history_new(block, fine, &(struct history_settings){FINE_INTERVAL_NS, FINE_KEEP_NS}, &recorder->histories.fine);
    if (r == 0)
        r = history_new((char *)block + fine, size - fine,
                        &(struct history_settings){settings->interval_ns, settings->keep_ns},
                        &recorder->histories.coarse);
    if (r == 0)
        r = timer_arm_in(recorder->timer, 0);
    if (r < 0)
        stop(recorder);
    return r;
}

int recorder_configure(struct recorder *recorder, const struct config_history *settings)
{
    const struct config_history *now = &recorder->settings;
    bool same = recorder->block && now->interval_ns == settings->interval_ns && now->keep_ns == settings->keep_ns &&
                now->memory == settings->memory;

    if (!settings->enabled || !same)
        stop(recorder);
    if (!settings->enabled)
        notify_store_nothing();
    return settings->enabled && !same ? start(recorder, settings) : 0;
}

void recorder_take(struct recorder *recorder, const struct snapshot *snapshot)
{
    if (recorder->block && history_is_due(recorder->histories.fine, snapshot->monotonic_ns))
        (void)history_record(recorder->histories.fine, snapshot);
}

const struct histories *recorder_histories(const struct recorder *recorder)
{
    return recorder->block ? &recorder->histories : NULL;
}
