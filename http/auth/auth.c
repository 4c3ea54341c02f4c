/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords: see auth.h. */
#include "http/auth/auth.h"

#include <poll.h>

#include "base/cleanup.h"
#include "http/auth/credential.h"
#include "http/auth/password.h"
#include "http/auth/refusal-delay.h"
#include "http/reply.h"
#include "http/worker.h"

/* A thread that has nothing to do is not kept, but it is not made anew for each of a few wrong ones either. */
#define WORKER_IDLE_NS (10 * NSEC_PER_SEC)

/* So often a client without a password is answered at once, of all of them. */
#define CHALLENGES_PER_SECOND 50

#define CHALLENGE "Basic realm=\"perfcountd\", charset=\"UTF-8\""

struct auth {
    struct worker *worker;
    struct password_cache verdicts;
    struct check *checks; /* all that wait or run */
};

/* A password that is being checked. The worker knows its members up to `right`. */
struct check {
    struct job job;
    struct credential credential;
    char *hash;    /* NULL: nobody has this name */
    unsigned most; /* the highest cost of all users */
    struct crypt_data data;
    bool right;

    struct auth *auth;
    struct request *request; /* NULL: nobody waits for it any more */
    struct peer peer;
    struct fingerprint fingerprint;
    struct check *next;
};

static void check_destroy(struct check *check)
{
    credential_done(&check->credential);
    free(check->hash);
    free(check);
}
DEFINE_CLEANUP(struct check *, check_destroy);

static void unlink_check(struct check *check)
{
    struct check **at = &check->auth->checks;

    while (*at != check)
        at = &(*at)->next;
    *at = check->next;
}

/* --- who waits */

/* The request goes on, and asks again. */
static void release(struct check *check)
{
    struct request *request = check->request;

    if (!request)
        return;
    check->request = NULL;
    request->check = NULL;
    request_resume(request);
}

static void settle(struct check *check, bool right)
{
    if (check->request)
        check->request->verdict = right ? VERDICT_RIGHT : VERDICT_WRONG;
    release(check);
}

struct check *check_free(struct check *check)
{
    if (!check)
        return NULL;
    if (check->request)
        check->request->check = NULL;
    check->request = NULL;
    job_cancel(&check->job);
    return NULL;
}

/* The same password may have been sent more than once before it was known. */
static void settle_same(struct auth *auth, const struct fingerprint *fingerprint, bool right)
{
    for (struct check *check = auth->checks, *next; check; check = next) {
        next = check->next;
        if (!fingerprint_equal(&check->fingerprint, fingerprint))
            continue;
        settle(check, right);
        job_cancel(&check->job);
    }
}

static void run(struct job *job)
{
    struct check *check = (struct check *)job;

    check->right = password_matches(check->credential.password, check->hash, check->most, &check->data);
}

static void on_done(struct job *job, bool cancelled)
{
    _cleanup_(check_destroyp) struct check *check = (struct check *)job;
    struct auth *auth = check->auth;

    unlink_check(check);
    if (cancelled)
        return;
    password_cache_remember(&auth->verdicts, &check->fingerprint, check->right);
    settle(check, check->right);
    settle_same(auth, &check->fingerprint, check->right);
}

/* --- how many may wait */

static bool has_left(const struct request *request)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd fd = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};

    return poll(&fd, 1, 0) > 0;
}

/* Clients that have closed their end make room. Should one of them listen nevertheless, it has an answer. */
static void drop_left(struct auth *auth)
{
    for (struct check *check = auth->checks, *next; check; check = next) {
        next = check->next;
        if (!check->request || !has_left(check->request))
            continue;
        check->request->verdict = VERDICT_BUSY;
        release(check);
        job_cancel(&check->job);
    }
}

static bool has_room(const struct auth *auth, const struct peer *peer)
{
    unsigned n = 0, same = 0, limit = peer->unix_socket ? CHECKS_MAX / 2 : CHECKS_PER_ADDRESS_MAX;

    for (const struct check *check = auth->checks; check; check = check->next) {
        n++;
        same += peer_same(&check->peer, peer);
    }
    return n < CHECKS_MAX && same < limit;
}

/* --- a request */

static int auth_new(sd_event *event, struct auth **ret)
{
    const struct worker_limits limits = {.jobs = CHECKS_MAX, .idle_ns = WORKER_IDLE_NS};
    _cleanup_(freep) struct auth *auth = calloc(1, sizeof(*auth));

    if (!auth)
        return -ENOMEM;
    int r = password_cache_init(&auth->verdicts);
    if (r < 0)
        return r;
    r = worker_new(event, &limits, &auth->worker);
    if (r < 0)
        return r;
    *ret = steal(auth);
    return 0;
}

struct auth *auth_free(struct auth *auth)
{
    if (!auth)
        return NULL;
    worker_free(auth->worker);
    password_cache_done(&auth->verdicts);
    free(auth);
    return NULL;
}

static bool is_excluded(const struct web_config *config, const char *path)
{
    for (size_t i = 0; i < config->auth_excluded_paths.n; i++)
        if (str_equal(config->auth_excluded_paths.items[i], path))
            return true;
    return false;
}

/* NULL: nobody has the name. Looks at all of them, so that the time does not tell which. */
static const char *find_hash(const struct web_config *config, const char *name)
{
    const char *hash = NULL;

    for (size_t i = 0; i < config->n_users; i++)
        if (str_equal(config->users[i].name, name))
            hash = config->users[i].hash;
    return hash;
}

static unsigned highest_cost(const struct web_config *config)
{
    unsigned most = PASSWORD_COST_MIN;

    for (size_t i = 0; i < config->n_users; i++)
        most = MAX(most, password_cost(config->users[i].hash));
    return most;
}

static struct check *check_new(struct request *request, const struct credential *credential, const char *hash)
{
    _cleanup_(check_destroyp) struct check *check = calloc(1, sizeof(*check));

    if (!check)
        return NULL;
    check->hash = hash ? strdup(hash) : NULL;
    if (hash && !check->hash)
        return NULL;
    credential_copy(credential, &check->credential);
    check->most = highest_cost(request->site->security->config);
    check->auth = request->site->auth;
    check->peer = *request->peer;
    check->job.run = run;
    check->job.done = on_done;
    return steal(check);
}

/* Has it checked; without memory or a thread nobody is let in. */
static enum verdict start_check(struct request *request, const struct credential *credential, const char *hash,
                                const struct fingerprint *fingerprint)
{
    struct auth *auth = request->site->auth;

    if (!has_room(auth, request->peer))
        drop_left(auth);
    if (!has_room(auth, request->peer))
        return VERDICT_BUSY;
    _cleanup_(check_destroyp) struct check *check = check_new(request, credential, hash);
    if (!check || worker_submit(auth->worker, &check->job) < 0)
        return VERDICT_BUSY;
    check->fingerprint = *fingerprint;
    check->request = request;
    check->next = auth->checks;
    auth->checks = check;
    request->check = steal(check);
    MHD_suspend_connection(request->mhd);
    return VERDICT_UNKNOWN;
}

static enum verdict judge(struct request *request, const struct credential *credential)
{
    const struct web_config *config = request->site->security->config;
    struct password_cache *verdicts = &request->site->auth->verdicts;
    const char *hash = find_hash(config, credential->user);
    struct fingerprint fingerprint;

    if (password_cache_fingerprint(verdicts, credential->user, hash ? hash : "", credential->password, &fingerprint) <
        0)
        return VERDICT_BUSY;
    enum verdict verdict = password_cache_find(verdicts, &fingerprint);
    return verdict == VERDICT_UNKNOWN ? start_check(request, credential, hash, &fingerprint) : verdict;
}

static enum verdict judge_header(struct request *request)
{
    const char *value = request_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
    struct site *site = request->site;
    struct credential credential;

    if (!value || credential_parse(value, &credential) < 0)
        return VERDICT_WRONG;
    enum verdict verdict = VERDICT_BUSY;
    if (site->auth || auth_new(site->event, &site->auth) == 0)
        verdict = judge(request, &credential);
    credential_done(&credential);
    return verdict;
}

static void reply_wrong(struct request *request)
{
    reply_error(request, MHD_HTTP_UNAUTHORIZED, "this needs a name and a password");
    if (request->response)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, CHALLENGE);
}

/* A client that has sent nothing only asks what is wanted, unless so many do that it is a flood. */
static bool is_to_wait(struct request *request)
{
    struct site *site = request->site;
    uint64_t wait_ns, now = site->service->now(site->service->userdata);

    if (request->penalties > 0 || request_header(request, MHD_HTTP_HEADER_AUTHORIZATION))
        return request->penalties == 0;
    token_bucket_configure(&site->challenges, NSEC_PER_SEC / CHALLENGES_PER_SECOND, CHALLENGES_PER_SECOND, now);
    return !token_bucket_take(&site->challenges, now, &wait_ns);
}

enum admission auth_admit(struct request *request)
{
    const struct web_config *config = request->site->security->config;

    if (!config || config->n_users == 0 || is_excluded(config, request->path))
        return ADMISSION_GRANTED;
    if (request->verdict == VERDICT_UNKNOWN)
        request->verdict = judge_header(request);
    if (request->verdict == VERDICT_UNKNOWN)
        return ADMISSION_PENDING;
    if (request->verdict == VERDICT_RIGHT)
        return ADMISSION_GRANTED;
    if (is_to_wait(request) && refusal_delay_start(request))
        return ADMISSION_PENDING;
    if (request->verdict == VERDICT_BUSY)
        reply_busy(request, "too many passwords wait to be checked; try again");
    else
        reply_wrong(request);
    return ADMISSION_REFUSED;
}
