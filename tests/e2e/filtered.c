/* SPDX-License-Identifier: Apache-2.0 */
/* Spends most of its time in code that the kernel compiled at run time: a long seccomp filter. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LENGTH 4000 /* instructions; BPF_MAXINSNS is 4096 */

int main(int argc, char **argv)
{
    static struct sock_filter filter[LENGTH];
    const struct sock_fprog program = {LENGTH, filter};
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

    for (int i = 0; i < LENGTH - 1; i++)
        filter[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4 * (unsigned)(i % 4));
    filter[LENGTH - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    /*
     * The kernel caches the verdict of a filter that only checks the system call number, so this one reads other
     * fields.
     */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return 1;
    while (time(NULL) < end)
        for (int i = 0; i < 1000; i++)
            syscall(SYS_close, -1 - (i & 1));
    return 0;
}
