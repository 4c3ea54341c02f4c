/* SPDX-License-Identifier: Apache-2.0 */
/* The page and its files, over real sockets. */
#include "http/api/page.h"

#include "base/cleanup.h"
#include "base/gzip.h"
#include "http/routes.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

#define HTML "Accept: text/html\r\n"

/* Firefox 115 and Chromium 115. */
#define BROWSER "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"

static const struct served_case cases[] = {
    {"GET /page/app.js", "", 200, {"Content-Type: text/javascript\r\n", "Vary: Accept-Encoding\r\n"}},
    {"GET /page/page.css", "", 200, {"Content-Type: text/css\r\n", "Cache-Control: no-cache\r\n"}},
    {"GET /page/icon.svg", "", 200, {"Content-Type: image/svg+xml\r\n", "X-Content-Type-Options: nosniff\r\n"}},
    {"GET /page/now/now.js", "Accept: */*\r\n", 200, {"Cache-Control: no-cache\r\n"}},
    {"GET /page/%61pp.js", "", 200, {"text/javascript"}},
    {"HEAD /page/app.js", "", 200, {"Content-Type: text/javascript\r\n", "ETag: \""}},
    {"POST /page/app.js", "Content-Length: 0\r\n", 405, {"Allow: GET, HEAD\r\n"}},
    {"DELETE /page/nothing", "", 405, {"Allow: GET, HEAD\r\n"}},
    {"GET /page/app.js?v=2", "", 400, {"unknown parameter \"v\""}},
    {"GET /page/", "", 404, {"the page has no file \"\"; see / for what there is"}},
    {"GET /page", "", 404, {"there is nothing at /page;"}},
    {"GET /pages", "", 404, {"there is nothing at /pages;"}},
    {"GET /page/index.html", "", 404, {"the page has no file"}},
    {"GET /page/now", "", 404, {"the page has no file"}},
    {"GET /page//app.js", "", 404, {"the page has no file"}},
    {"GET /page/../page/app.js", "", 404, {"the page has no file"}},
    {"GET /page/now/../app.js", "", 404, {"the page has no file"}},
    {"GET /page/%2e%2e/app.js", "", 404, {"the page has no file"}},
    {"GET /page/..%2fapp.js", "", 404, {"the page has no file"}},
    {"GET /page/app.js%00", "", 400, {"not well-formed"}},
    {"GET /page/app.js%ff", "", 400, {"not well-formed"}},
    {"GET /page/%3cb%3e", "", 404, {"Content-Type: text/plain; charset=utf-8\r\n", "nosniff"}},
    {"GET /",
     HTML,
     200,
     {"Content-Type: text/html; charset=utf-8\r\n", "Vary: Accept, Accept-Encoding\r\n", "ETag: \""}},
    {"GET /",
     BROWSER,
     200,
     {"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
      "'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'\r\n",
      "Referrer-Policy: no-referrer\r\n", "Cache-Control: no-cache\r\n"}},
    {"HEAD /", HTML, 200, {"Content-Type: text/html; charset=utf-8\r\n", "ETag: \""}},
    {"GET /", "Accept: text/plain, text/html;q=0.5\r\n", 200, {"Content-Type: text/plain; charset=utf-8\r\n"}},
};

static void test_answers(void **state)
{
    (void)state;
    served_check_all(cases, ARRAY_SIZE(cases));
}

static void test_long_path(void **state)
{
    _cleanup_(buffer_done) struct buffer request = {0};
    struct served f;

    (void)state;
    buffer_append_text(&request, "GET /page/");
    for (int i = 0; i < 4096; i++)
        buffer_append_char(&request, "../a"[i % 4]);
    _cleanup_(freep) char *in = buffer_string(&request);
    served_start(&f, NULL, "127.0.0.1:0");
    served_check(&f, &(struct served_case){in, "", 404, {"the page has no file \"../a"}});
    served_done(&f);
}

/* One response as it was received. The caller frees its buffer. */
struct received {
    struct buffer bytes;
    size_t body; /* where it begins */
};

static struct received receive(struct served *f, const char *request, const char *headers, bool head)
{
    struct received received = {0};
    _cleanup_(closep) int fd = served_ask(f, request, headers);

    received.body = served_receive(f, fd, head, &received.bytes);
    assert_true(received.body > 0);
    return received;
}

/* The value of a header; the caller frees it. */
static char *header_of(const struct received *received, const char *name)
{
    _cleanup_(freep) char *head = strndup(received->bytes.data, received->body);
    const char *line = strstr(head, name);

    assert_non_null(line);
    line += strlen(name) + strlen(": ");
    return strndup(line, strcspn(line, "\r"));
}

static void assert_sends(struct served *f, const struct asset *asset)
{
    _cleanup_(buffer_done) struct buffer expected = {0};
    char request[128];

    snprintf(request, sizeof(request), "GET /page/%s", asset->path);
    print_message("%s\n", request);
    struct received plain = receive(f, request, "", false), gzip = receive(f, request, GZIP, false);
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
    buffer_done(&plain.bytes);
    buffer_done(&gzip.bytes);
}

static void test_both_codings(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < n_assets; i++)
        if (assets[i].type != ASSET_HTML)
            assert_sends(&f, &assets[i]);
    served_done(&f);
}

/*
 * A 304 has no body; its length, where it has one, is the one that the body would have (RFC 9110, section 8.6).
 * libmicrohttpd 0.9.72 gives none.
 */
static void assert_not_modified(struct served *f, const char *request, const char *headers)
{
    struct received whole = receive(f, request, headers, false);
    _cleanup_(freep) char *etag = header_of(&whole, "ETag"), *length = header_of(&whole, "Content-Length");
    _cleanup_(buffer_done) struct buffer with = {0}, in = {0};

    print_message("%s, %s\n", request, etag);
    buffer_appendf(&with, "%sIf-None-Match: \"x\"\r\nIf-None-Match: W/%s\r\n", headers, etag);
    buffer_append_char(&with, '\0');
    _cleanup_(closep) int fd = served_ask(f, request, with.data);
    size_t body = served_receive(f, fd, true, &in);
    assert_int_equal(in.size, body);
    _cleanup_(freep) char *head = buffer_string(&in);
    assert_int_equal(served_status(head), 304);
    assert_has(head, etag);
    assert_has(head, "Cache-Control: no-cache\r\n");
    assert_has(head, "Vary: ");
    if (strstr(head, "Content-Length: "))
        assert_has(head, length);
    served_send(fd, "GET /-/healthy", "");
    _cleanup_(freep) char *next = served_receive_text(f, fd, false);
    assert_int_equal(served_status(next), 200);
    buffer_done(&whole.bytes);
}

static void assert_modified(struct served *f, const char *request, const char *headers)
{
    struct received whole = receive(f, request, headers, false);
    _cleanup_(buffer_done) struct buffer with = {0};

    buffer_appendf(&with, "%sIf-None-Match: \"x\"\r\n", headers);
    buffer_append_char(&with, '\0');
    struct received again = receive(f, request, with.data, false);
    assert_int_equal(again.bytes.size - again.body, whole.bytes.size - whole.body);
    buffer_done(&again.bytes);
    buffer_done(&whole.bytes);
}

static void test_not_modified(void **state)
{
    static const char *const requests[][2] = {
        {"GET /page/app.js", ""}, {"GET /page/app.js", GZIP}, {"GET /", HTML}, {"GET /", HTML GZIP}};
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        assert_not_modified(&f, requests[i][0], requests[i][1]);
        assert_modified(&f, requests[i][0], requests[i][1]);
    }
    served_done(&f);
}

/* The ETag of the one coding is not that of the other. */
static void test_etag_of_the_other_coding(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    struct received gzip = receive(&f, "GET /page/app.js", GZIP, false);
    _cleanup_(freep) char *etag = header_of(&gzip, "ETag");
    _cleanup_(buffer_done) struct buffer headers = {0};
    buffer_appendf(&headers, "If-None-Match: %s\r\n", etag);
    buffer_append_char(&headers, '\0');
    served_check(&f, &(struct served_case){"GET /page/app.js", headers.data, 200, {"import "}});
    buffer_done(&gzip.bytes);
    served_done(&f);
}

/* Below whatever path a proxy has it: no link begins with a slash. */
static void test_page(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    _cleanup_(freep) char *page = served_answer(&f, 0, "GET /", HTML);
    served_done(&f);
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
    assert_has_not(page, "<!-- modules -->");
    assert_has_not(page, "<!-- paths -->");
    assert_has(page, "<link rel=\"modulepreload\" href=\"./page/address.js\">\n");
    assert_has_not(page, "href=\"./page/chart.js\"");
    assert_has(page, "</noscript>\n</body>\n</html>\n");
}

/* A page is another one where it has other paths. */
static void test_page_with_another_telemetry_path(void **state)
{
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    struct received before = receive(&f, "GET /", HTML, false);
    assert_int_equal(server_set_telemetry_path(f.server, "/m<&>"), 0);
    struct received after = receive(&f, "GET /", HTML, false);
    _cleanup_(freep) char *etag = header_of(&before, "ETag"), *new_etag = header_of(&after, "ETag");
    assert_string_not_equal(etag, new_etag);
    assert_non_null(memmem(after.bytes.data, after.bytes.size, "<a href=\"./m&lt;&amp;&gt;\">/m&lt;&amp;&gt;</a>", 41));
    buffer_done(&before.bytes);
    buffer_done(&after.bytes);
    served_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_both_codings),
        cmocka_unit_test(test_not_modified),
        cmocka_unit_test(test_etag_of_the_other_coding),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_page_with_another_telemetry_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
