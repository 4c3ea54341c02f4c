/* SPDX-License-Identifier: Apache-2.0 */
#include "http/auth.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timer.h"
#include "http/password.h"
#include "http/reply.h"
#include "http/worker.h"

#define REFUSAL_DELAY_NS (250 * NSEC_PER_MSEC)

/* --- delayed refusals --- */

/* How much later than its delay a reply may be sent, so that one wakeup of the process serves many requests. */
#define ACCURACY_USEC 50000

static void refusal_delay_cancel(struct request *request)
{
    sd_event_source_disable_unref(request->suspension.userdata);
}

static void refusal_delay_end(struct request *request)
{
    refusal_delay_cancel(request);
    request->delays++;
    request_resume(request);
}

static int refusal_delay_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    refusal_delay_end(userdata);
    return 0;
}

bool refusal_delay_start(struct request *request)
{
    sd_event_source *timer;

    if (timer_start(request->site->event, REFUSAL_DELAY_NS / NSEC_PER_USEC, ACCURACY_USEC, refusal_delay_on_timer,
                    request, &timer) < 0)
        return false;
    request_suspend(request, refusal_delay_cancel, timer);
    request->suspension.cut_short = refusal_delay_end;
    return true;
}

/* --- permissions --- */

static const char forbidden_to_pages[] =
    "this request may come from a web page of another site; such pages may read documents, but not start anything. A "
    "page of this server sends \"" TRUST_PROOF ": " TRUST_PROOF_VALUE
    "\" and uses an IP address, \"localhost\", this machine's name or one of web.hosts; a program other than a browser "
    "sends no \"User-Agent: Mozilla/...\", \"Accept-Language\" or \"Origin\"";

static const char operators_only[] =
    "only operators may do this: clients with a password or certificate (web.config_file), and clients of a unix "
    "socket that are root, the user of perfcountd or in the socket's group (curl --unix-socket); web.local_operators "
    "also makes operators of all clients of this machine that do not come through a proxy";

static enum MHD_Result origin_on_header(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    origin_header_add(userdata, name, value ? value : "");
    return MHD_YES;
}

/* What http/trust.h needs to determine how far a request is trusted. */
struct origin {
    struct origin_headers claims;
    char machine[HOST_NAME_MAX + 1];
    struct host_names names;
};

static void origin_of(const struct request *request, struct origin *ret)
{
    const struct trust_rules *rules = &request->site->trust_rules;

    *ret = (struct origin){.names = {.machine = ret->machine, .others = rules->hosts, .n_others = rules->n_hosts}};
    if (gethostname(ret->machine, sizeof(ret->machine) - 1) < 0)
        ret->machine[0] = '\0';
    MHD_get_connection_values(request->mhd, MHD_HEADER_KIND, origin_on_header, &ret->claims);
}

static enum trust request_trust(const struct request *request)
{
    struct origin origin;

    origin_of(request, &origin);
    return trust_of(request_is_authenticated(request), request->peer, &origin.claims, &origin.names);
}

const char *refusal_sentence(struct request *request, bool restricted)
{
    request->trust = request_trust(request);
    if (request->trust == TRUST_PAGE)
        return forbidden_to_pages;
    return restricted && request->trust < request->site->trust_rules.operates ? operators_only : NULL;
}

/* --- passwords --- */

/* How long an idle worker thread is kept, so that not every password in a series of wrong ones starts a new thread. */
#define WORKER_IDLE_NS (10 * NSEC_PER_SEC)

/* How many requests without a password are refused per second without delay, for all clients together. */
#define CHALLENGES_PER_SECOND 50

#define CHALLENGE "Basic realm=\"perfcountd\", charset=\"UTF-8\""

/*
 * The challenge for requests of the daemon's own page, with a scheme that no browser knows. The page's script therefore
 * gets the reply, and can report that the password has changed. With a scheme that they know, browsers would prompt for
 * a password at every request by the page.
 */
#define CHALLENGE_OF_PAGE "X-" CHALLENGE

struct auth {
    struct worker *worker;
    struct password_cache cache;
    LIST_HEAD(, password_check) checks; /* waiting or running password checks */
    struct peer_counts peers;           /* number of waiting or running password checks of each address */
};

/* A password check in progress. The worker thread only accesses the members up to `right`. */
struct password_check {
    struct job job;
    struct credential credential;
    char *hash;            /* the user's bcrypt hash; NULL if the user does not exist */
    unsigned highest_cost; /* highest cost among the hashes of all users */
    struct crypt_data data;
    bool right;

    struct auth *auth;
    struct request *request; /* NULL if the request no longer waits */
    struct peer_count *count;
    struct fingerprint fingerprint;
    LIST_ENTRY(password_check) entry;
};

static void check_destroy(struct password_check *check)
{
    credential_done(&check->credential);
    free(check->hash);
    free(check);
}
DEFINE_CLEANUP(struct password_check *, check_destroy);

/* Resumes the request that waits for the check, for which auth_admit() is then called again. */
static void check_release(struct password_check *check, enum password_result result)
{
    struct request *request = check->request;

    if (!request)
        return;
    check->request = NULL;
    request->result = result;
    request_resume(request);
}

static void check_cancel(struct request *request)
{
    struct password_check *check = request->suspension.userdata;

    check->request = NULL;
    job_cancel(&check->job);
}

static void check_settle(struct password_check *check, bool right)
{
    check_release(check, right ? PASSWORD_RIGHT : PASSWORD_WRONG);
}

/* Passes the result to all waiting requests with the same user and password. */
static void checks_settle_same(struct auth *auth, const struct fingerprint *fingerprint, bool right)
{
    for (struct password_check *check = LIST_FIRST(&auth->checks), *next; check; check = next) {
        next = LIST_NEXT(check, entry);
        if (!fingerprint_equal(&check->fingerprint, fingerprint))
            continue;
        check_settle(check, right);
        job_cancel(&check->job);
    }
}

static void check_run(struct job *job)
{
    struct password_check *check = (struct password_check *)job;

    check->right = password_matches(check->credential.password, check->hash, check->highest_cost, &check->data);
}

static void check_on_done(struct job *job, bool cancelled)
{
    _cleanup_(check_destroyp) struct password_check *check = (struct password_check *)job;
    struct auth *auth = check->auth;

    LIST_REMOVE(check, entry);
    peer_counts_remove(&auth->peers, check->count);
    if (cancelled)
        return;
    password_cache_remember(&auth->cache, &check->fingerprint, check->right);
    check_settle(check, check->right);
    checks_settle_same(auth, &check->fingerprint, check->right);
}

static bool request_has_left(const struct request *request)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd fd = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};

    return poll(&fd, 1, 0) > 0;
}

/*
 * Drops the checks of clients that have closed their end. They are told that the server is busy, since a client that
 * has only shut down its sending side still reads the reply.
 */
static void checks_drop_left(struct auth *auth)
{
    for (struct password_check *check = LIST_FIRST(&auth->checks), *next; check; check = next) {
        next = LIST_NEXT(check, entry);
        if (!check->request || !request_has_left(check->request))
            continue;
        check_release(check, PASSWORD_BUSY);
        job_cancel(&check->job);
    }
}

static bool checks_have_room(const struct auth *auth, const struct peer *peer)
{
    return peer_counts_have_room(&auth->peers, peer, CHECKS_MAX, CHECKS_PER_ADDRESS_MAX);
}

static int auth_new(sd_event *event, struct auth **ret)
{
    const struct worker_limits limits = {.jobs = CHECKS_MAX, .idle_ns = WORKER_IDLE_NS};
    _cleanup_(freep) struct auth *auth = calloc(1, sizeof(*auth));

    if (!auth)
        return -ENOMEM;
    int r = password_cache_init(&auth->cache);
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
    password_cache_done(&auth->cache);
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

/*
 * Returns the bcrypt hash of the user, or NULL if there is no such user. Compares all user names, so that the timing
 * does not reveal which names exist.
 */
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

static struct password_check *check_new(struct request *request, const struct credential *credential, const char *hash)
{
    _cleanup_(check_destroyp) struct password_check *check = calloc(1, sizeof(*check));

    if (!check)
        return NULL;
    check->hash = hash ? strdup(hash) : NULL;
    if (hash && !check->hash)
        return NULL;
    credential_copy(credential, &check->credential);
    check->highest_cost = highest_cost(request->site->security->config);
    check->auth = request->site->auth;
    check->job.run = check_run;
    check->job.done = check_on_done;
    return steal(check);
}

/*
 * Starts a password check. Returns PASSWORD_BUSY if there is no room, memory or thread for the check; the request is
 * then not admitted.
 */
static enum password_result check_start(struct request *request, const struct credential *credential, const char *hash,
                                        const struct fingerprint *fingerprint)
{
    struct auth *auth = request->site->auth;

    if (!checks_have_room(auth, request->peer))
        checks_drop_left(auth);
    if (!checks_have_room(auth, request->peer))
        return PASSWORD_BUSY;
    _cleanup_(check_destroyp) struct password_check *check = check_new(request, credential, hash);
    struct peer_count *count = check ? peer_counts_add(&auth->peers, request->peer) : NULL;
    if (!count)
        return PASSWORD_BUSY;
    if (worker_submit(auth->worker, &check->job) < 0) {
        peer_counts_remove(&auth->peers, count);
        return PASSWORD_BUSY;
    }
    check->count = count;
    check->fingerprint = *fingerprint;
    check->request = request;
    LIST_INSERT_HEAD(&auth->checks, check, entry);
    request_suspend(request, check_cancel, steal(check));
    return PASSWORD_UNKNOWN;
}

static enum password_result password_judge(struct request *request, const struct credential *credential)
{
    const struct web_config *config = request->site->security->config;
    struct password_cache *cache = &request->site->auth->cache;
    const char *hash = find_hash(config, credential->user);
    struct fingerprint fingerprint;

    if (password_cache_fingerprint(cache, credential->user, hash ? hash : "", credential->password, &fingerprint) < 0)
        return PASSWORD_BUSY;
    enum password_result result = password_cache_find(cache, &fingerprint);
    return result == PASSWORD_UNKNOWN ? check_start(request, credential, hash, &fingerprint) : result;
}

static enum password_result request_judge(struct request *request)
{
    const char *value = request_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
    struct site *site = request->site;
    struct credential credential;

    int r = value ? credential_parse(value, &credential) : -EINVAL;
    if (r < 0)
        return r == -ENOMEM ? PASSWORD_BUSY : PASSWORD_WRONG;
    enum password_result result = PASSWORD_BUSY;
    if (site->auth || auth_new(site->event, &site->auth) == 0)
        result = password_judge(request, &credential);
    credential_done(&credential);
    return result;
}

/* Returns a sentence that says why the request is not authenticated without revealing anything about the users. */
static const char *challenge_sentence(struct request *request)
{
    const char *value = request_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
    struct credential credential;

    if (!value)
        return "this needs a name and a password, as in curl -u NAME";
    int r = credential_parse(value, &credential);
    if (r == -EINVAL)
        return "the \"Authorization\" header contains no \"Basic\" name and password";
    if (r == 0)
        credential_done(&credential);
    return "the name or the password is wrong";
}

/* Returns whether the daemon's own page sent the request with a (wrong) password. */
static bool page_has_password(const struct request *request)
{
    const char *proof = request_header(request, TRUST_PROOF);

    return proof && strcasecmp(proof, TRUST_PROOF_VALUE) == 0 && request_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
}

static void reply_challenge(struct request *request)
{
    reply_error(request, MHD_HTTP_UNAUTHORIZED, "%s", challenge_sentence(request));
    if (request->response)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                page_has_password(request) ? CHALLENGE_OF_PAGE : CHALLENGE);
}

/*
 * Returns whether the refusal must be delayed. A client that sends no password usually just wants to learn the scheme,
 * and is refused at once, unless there are too many such clients.
 */
static bool refusal_must_wait(struct request *request)
{
    struct site *site = request->site;
    uint64_t wait_ns, now = service_now(site->service);

    if (request->delays > 0 || request_header(request, MHD_HTTP_HEADER_AUTHORIZATION))
        return request->delays == 0;
    token_bucket_configure(&site->challenges, NSEC_PER_SEC / CHALLENGES_PER_SECOND, CHALLENGES_PER_SECOND, now);
    return !token_bucket_take(&site->challenges, now, &wait_ns);
}

/* The client of a unix socket, which speaks plain HTTP, cannot present a certificate. */
static bool lacks_certificate(const struct request *request)
{
    return request->peer->unix_socket && security_requires_certificate(request->site->security);
}

static bool needs_password(const struct request *request)
{
    const struct web_config *config = request->site->security->config;

    return config && config->n_users > 0 && !is_excluded(config, request->path);
}

/* Returns whether the client is root or the daemon's own user, on a unix socket. */
static bool is_owner(const struct request *request)
{
    struct origin origin;

    origin_of(request, &origin);
    return trust_needs_no_credential(request->peer, &origin.claims, &origin.names);
}

enum admission auth_admit(struct request *request)
{
    bool uncertified = lacks_certificate(request);

    if ((!uncertified && !needs_password(request)) || is_owner(request))
        return ADMISSION_GRANTED;
    if (uncertified) {
        reply_error(request, MHD_HTTP_FORBIDDEN,
                    "this needs a client certificate, which requires https; on a unix socket, root needs none");
        return ADMISSION_REFUSED;
    }
    if (request->result == PASSWORD_UNKNOWN)
        request->result = request_judge(request);
    if (request->result == PASSWORD_UNKNOWN)
        return ADMISSION_PENDING;
    if (request->result == PASSWORD_RIGHT)
        return ADMISSION_GRANTED;
    if (refusal_must_wait(request) && refusal_delay_start(request))
        return ADMISSION_PENDING;
    if (request->result == PASSWORD_BUSY)
        reply_busy(request, "too many passwords are waiting to be checked; try again");
    else
        reply_challenge(request);
    return ADMISSION_REFUSED;
}
