/* SPDX-License-Identifier: Apache-2.0 */
/* The page's files: the table that web/compile.sh generates from them, and how they are served over real sockets. */
#include "http/page.h"

#include "base/cleanup.h"
#include "base/gzip.h"
#include "http/routes.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"
#include "web/assets.h"

/*
 * The build is reproducible: files are sorted, and gzip headers contain neither a time nor a name (RFC 1952, section
 * 2.3).
 */
TEST(test_table)
{
    static const char *const unknown[] = {"", "app.j", "app.jss", "/app.js", "./app.js", "web/app.js", "App.js", "web"};
    uint32_t begin = 0;

    assert_true(n_assets > 5);
    for (size_t i = 0; i < n_assets; i++) {
        const struct asset *asset = &assets[i];
        _cleanup_(buffer_done) struct buffer decoded = {0};
        print_message("%s\n", asset->path);
        assert_int_equal(strlen(asset->tag), 16);
        assert_int_equal(strspn(asset->tag, "0123456789abcdef"), 16);
        assert_int_equal(asset->begin, begin);
        assert_ptr_equal(asset_find(asset->path), asset);
        begin += asset->size;
        assert_memory_equal(asset_bytes + asset->begin, "\x1f\x8b\x08\x00\x00\x00\x00\x00", 8);
        assert_int_equal(page_decode(&decoded, asset), 0);
        assert_int_equal(decoded.size, asset->full_size);
    }
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
        assert_null(asset_find(unknown[i]));
}

#define HTML "Accept: text/html\r\n"

/* sent by Firefox 115 and Chromium 115 */
#define BROWSER "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"

static const struct served_case cases[] = {
    {"GET /page/app.js", "", 200, "Content-Type: text/javascript\r\n ... Vary: Accept-Encoding\r\n"},
    {"GET /page/page.css", "", 200, "Content-Type: text/css\r\n ... Cache-Control: no-cache\r\n"},
    {"GET /page/icon.svg", "", 200, "Content-Type: image/svg+xml\r\n ... X-Content-Type-Options: nosniff\r\n"},
    {"GET /page/health/health.js", "Accept: */*\r\n", 200, "Cache-Control: no-cache\r\n"},
    {"HEAD /page/app.js", "", 200, "Content-Type: text/javascript\r\n ... ETag: \""},
    {"POST /page/app.js", "Content-Length: 0\r\n", 405, "Allow: GET, HEAD\r\n"},
    {"GET /page/app.js?v=2", "", 400, "unknown parameter \"v\""},
    {"GET /page/", "", 404, "no such path: /page/ (see / for the list)"},
    {"GET /page", "", 404, "no such path: /page (see / for the list)"},
    {"GET /page/index.html", "", 404, "no such path: /page/"},
    {"GET /page//app.js", "", 404, "no such path: /page/"},
    {"GET /page/overview/../app.js", "", 404, "no such path: /page/"},
    {"GET /page/..%2fapp.js", "", 404, "no such path: /page/"},
    {"GET /page/app.js%00", "", 400, "not well-formed"},
    {"GET /page/%3cb%3e", "", 404, "Content-Type: text/plain; charset=utf-8\r\n ... nosniff"},
    {"GET /", HTML, 200,
     "Content-Type: text/html; charset=utf-8\r\n ... Vary: Accept, Accept-Encoding\r\n ... ETag: \""},
    {"GET /", BROWSER, 200,
     "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
     "'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'\r\n ... Referrer-Policy: "
     "no-referrer\r\n ... Cache-Control: no-cache\r\n"},
    {"HEAD /", HTML, 200, "Content-Type: text/html; charset=utf-8\r\n ... ETag: \""},
    {"GET /", "Accept: text/plain, text/html;q=0.5\r\n", 200, "Content-Type: text/plain; charset=utf-8\r\n"},
};

SERVED_TEST(test_answers)
{
    served_check_all(*state, cases, ARRAY_SIZE(cases));
}

/* A path of 4 KiB is within the size limit of request headers, and gets a 404. */
SERVED_TEST(test_long_path)
{
    char request[4096] = "GET /page/";
    const size_t start = strlen(request);

    for (size_t i = start; i < sizeof(request) - 1; i++)
        request[i] = "../a"[(i - start) % 4];
    served_check_all(*state, &(struct served_case){request, "", 404, "no such path: /page/../a"}, 1);
}

/* A response as it was received. */
struct received {
    struct buffer bytes;
    size_t body; /* offset of the body */
};

static void received_done(struct received *received)
{
    buffer_done(&received->bytes);
}

static struct received receive(struct served *f, const char *request, const char *headers)
{
    struct received received = {0};
    _cleanup_(closep) int fd = served_ask(f, request, headers);

    received.body = served_receive(f, fd, false, &received.bytes);
    assert_true(received.body > 0);
    return received;
}

/* Returns the value of a header. The caller frees it. */
static char *header_of(const struct received *received, const char *name)
{
    _cleanup_(freep) char *head = strndup(received->bytes.data, received->body);
    const char *line = strstr(head, name);

    assert_non_null(line);
    line += strlen(name) + strlen(": ");
    return strndup(line, strcspn(line, "\r"));
}

/* Sends the same request with If-None-Match. The caller closes the connection. */
static int ask_if_none(struct served *f, const char *request, const char *headers, const char *list)
{
    _cleanup_(buffer_done) struct buffer with = {0};

    buffer_appendf(&with, "%sIf-None-Match: %s\r\n", headers, list);
    buffer_append_char(&with, '\0');
    return served_ask(f, request, with.data);
}

static void assert_sends(struct served *f, const struct asset *asset)
{
    _cleanup_(buffer_done) struct buffer expected = {0};
    char request[128];

    snprintf(request, sizeof(request), "GET /page/%s", asset->path);
    print_message("%s\n", request);
    _cleanup_(received_done) struct received plain = receive(f, request, ""), gzip = receive(f, request, GZIP);
    assert_int_equal(page_decode(&expected, asset), 0);
    assert_int_equal(plain.bytes.size - plain.body, expected.size);
    assert_memory_equal(plain.bytes.data + plain.body, expected.data, expected.size);
    assert_int_equal(gzip.bytes.size - gzip.body, asset->size);
    assert_memory_equal(gzip.bytes.data + gzip.body, asset_bytes + asset->begin, asset->size);
    _cleanup_(freep) char *coding = header_of(&gzip, "Content-Encoding");
    _cleanup_(freep) char *etag = header_of(&plain, "ETag"), *gzip_etag = header_of(&gzip, "ETag");
    assert_string_equal(coding, "gzip");
    assert_string_not_equal(etag, gzip_etag);
    assert_null(memmem(plain.bytes.data, plain.body, "Content-Encoding", 16));
}

SERVED_TEST(test_both_codings)
{
    for (size_t i = 0; i < n_assets; i++)
        if (assets[i].type != ASSET_HTML)
            assert_sends(*state, &assets[i]);
}

/*
 * A 304 response has no body. The Content-Length of a 304 response, if present, is the length of the body that a 200
 * response would have (RFC 9110, section 8.6); libmicrohttpd 0.9.72 omits it.
 */
static void assert_not_modified(struct served *f, const char *request, const char *headers)
{
    _cleanup_(received_done) struct received whole = receive(f, request, headers);
    _cleanup_(freep) char *etag = header_of(&whole, "ETag"), *length = header_of(&whole, "Content-Length");
    _cleanup_(buffer_done) struct buffer in = {0}, again = {0};
    char list[128];

    print_message("%s, %s\n", request, etag);
    snprintf(list, sizeof(list), "\"x\"\r\nIf-None-Match: W/%s", etag);
    _cleanup_(closep) int fd = ask_if_none(f, request, headers, list);
    size_t body = served_receive(f, fd, true, &in);
    assert_int_equal(in.size, body);
    _cleanup_(freep) char *head = buffer_string(&in);
    assert_int_equal(served_status(head), 304);
    assert_has(head, etag);
    assert_has(head, "Cache-Control: no-cache\r\n");
    assert_has(head, "Vary: ");
    if (strstr(head, "Content-Length: "))
        assert_has(head, length);
    served_send(fd, HEALTHY, "");
    served_expect(f, fd, OK);
    _cleanup_(closep) int other = ask_if_none(f, request, headers, "\"x\"");
    body = served_receive(f, other, false, &again);
    assert_int_equal(again.size - body, whole.bytes.size - whole.body);
}

SERVED_TEST(test_not_modified)
{
    static const char *const requests[][2] = {
        {"GET /page/app.js", ""}, {"GET /page/app.js", GZIP}, {"GET /", HTML}, {"GET /", HTML GZIP}};

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        assert_not_modified(*state, requests[i][0], requests[i][1]);
    /* Each content coding has its own ETag. */
    _cleanup_(received_done) struct received gzip = receive(*state, "GET /page/app.js", GZIP);
    _cleanup_(freep) char *etag = header_of(&gzip, "ETag");
    _cleanup_(closep) int fd = ask_if_none(*state, "GET /page/app.js", "", etag);
    served_expect(*state, fd, "const module_");
}

/* The page works behind a proxy, under any path prefix, since no link begins with a slash. */
SERVED_TEST(test_page)
{
    struct served *f = *state;

    _cleanup_(freep) char *page = served_answer(f, 0, "GET /", HTML);
    for (size_t i = 0; i < n_routes; i++) {
        char link[128];
        bool get = strcmp(routes[i].method, "GET") == 0;
        if (!routes[i].example)
            continue;
        snprintf(link, sizeof(link), get ? "<dt><a href=\".%s" : "<dt>POST %s<", routes[i].path ?: "/metrics");
        if (get || strcmp(routes[i].method, "POST") == 0)
            assert_has(page, link);
    }
    assert_has(page, "<a href=\"./api/v1/samples?seconds=1\">");
    assert_has_not(page, "href=\"/");
    assert_has_not(page, "src=\"/");
    assert_has_not(page, "<!-- paths -->");
    assert_has(page, "href=\"page/app.js\"");
    assert_has(page, "</noscript>\n</body>\n</html>\n");
}

/* Changing the telemetry path changes the page, and thus its ETag. */
SERVED_TEST(test_page_with_another_telemetry_path)
{
    struct served *f = *state;
    _cleanup_(received_done) struct received before = receive(f, "GET /", HTML);

    assert_int_equal(server_set_telemetry_path(f->server, "/m<&>"), 0);
    _cleanup_(received_done) struct received after = receive(f, "GET /", HTML);
    _cleanup_(freep) char *etag = header_of(&before, "ETag"), *new_etag = header_of(&after, "ETag");
    assert_string_not_equal(etag, new_etag);
    assert_non_null(memmem(after.bytes.data, after.bytes.size, "<a href=\"./m&lt;&amp;&gt;\">/m&lt;&amp;&gt;</a>", 41));
}

TEST_MAIN(NULL, NULL)
