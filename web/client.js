// SPDX-License-Identifier: Apache-2.0
// Requests to the daemon that served this page. All paths are relative, so that the page works below any path prefix of
// a reverse proxy. A failed request throws a Fault, whose message is a sentence for the user.

export class Fault extends Error {
    // `status` is the HTTP status, or 0 if there was no answer. `retryAfter` is the number of seconds after which to
    // try again, or null. `reason` is the error text from the daemon.
    constructor(sentence, { status = 0, retryAfter = null, reason = "" } = {}) {
        super(sentence);
        this.status = status;
        this.retryAfter = retryAfter;
        this.reason = reason;
    }
}

// Time limit for response headers. Only requests that wait on purpose, such as rates over an interval, take longer.
const patienceMs = 15000;
const longestRetryS = 600;
const reasonSize = 4000;

// Returns the Fault for a daemon that cannot be reached. A missing network is blamed only if the daemon runs on another
// computer.
function unreachable(url) {
    const offline = globalThis.navigator?.onLine === false &&
        !/^(localhost$|127\.|\[::1\])/.test(new URL(url).hostname);

    return new Fault(`The daemon cannot be reached${offline ? ": this computer has no network" : ""}.`);
}

// Returns the error text of the daemon. HTML is ignored, since it comes from a proxy.
async function reasonOf(response) {
    const type = response.headers.get("Content-Type") ?? "";

    if (!/^(application\/json|text\/plain)/.test(type))
        return "";
    const text = (await response.text().catch(() => "")).slice(0, reasonSize);
    try {
        return String(JSON.parse(text).error);
    } catch {
        return text.trim();
    }
}

const openings = {
    400: "The daemon refuses this",
    401: "The daemon requires a password, or a different one",
    403: "The daemon does not allow this",
    429: "The daemon accepts no more requests for now",
    502: "The proxy in front of the daemon cannot reach it",
    503: "The daemon is busy",
    504: "The proxy in front of the daemon gets no answer from it",
};

async function faultOf(response) {
    const { status } = response;
    const reason = await reasonOf(response);
    const after = Number(response.headers.get("Retry-After"));
    const opening = openings[status] ?? `The daemon answers with status ${status}`;

    return new Fault(`${opening}${reason && status !== 401 ? `: ${reason}` : ""}.`.replace(/\.\.$/, "."), {
        status, reason, retryAfter: after > 0 ? Math.min(after, longestRetryS) : null });
}

// Aborts a request when the caller's signal is aborted or the time limit is reached.
class Limit {
    constructor(signal, patience) {
        this.signal = signal;
        this.controller = new AbortController();
        this.late = false;
        this.abort = () => this.controller.abort();
        signal?.addEventListener("abort", this.abort, { once: true });
        this.timer = setTimeout(() => {
            this.late = true;
            this.abort();
        }, patience);
        if (signal?.aborted)
            this.abort();
    }

    // Removes the time limit once the headers have arrived.
    relax() {
        clearTimeout(this.timer);
    }

    done() {
        this.relax();
        this.signal?.removeEventListener("abort", this.abort);
    }

    // Throws the abort reason if the caller's signal was aborted, a Fault if the time limit was reached, and otherwise
    // the error `otherwise`.
    fail(otherwise) {
        this.signal?.throwIfAborted();
        throw this.late ? new Fault("The daemon did not answer in time.") : otherwise;
    }
}

export class Client {
    constructor(base) {
        this.base = base;
        this.refused = null; // the Fault of a 401 response, or null
    }

    // `parameters`: {name: value or [values]}. Values that are "", null or undefined are omitted.
    url(path, parameters = {}) {
        const url = new URL(path, this.base);

        // The base URL may contain credentials, http://NAME:PASSWORD@HOST/. The browser sends the credentials anyway,
        // and fetch() rejects URLs that contain them.
        url.username = url.password = "";
        for (const [name, values] of Object.entries(parameters))
            for (const value of [values].flat())
                if (value !== undefined && value !== null && value !== "")
                    url.searchParams.append(name, String(value));
        return url.href;
    }

    // The X-Requested-With header tells the daemon that a request comes from its own page, even if the browser
    // considers the origin insecure (http://192.0.2.1/). Pages of other origins cannot send this header without a CORS
    // preflight.
    //
    // After a 401 the browser forgets the password: each further request would be sent without it and would prompt the
    // user. Therefore, after a 401 no more requests are sent until the page is reloaded.
    async answer(method, url, limit) {
        let response;

        if (this.refused)
            throw this.refused;
        try {
            response = await fetch(url, { method, signal: limit.controller.signal, cache: "no-store",
                                          headers: { "X-Requested-With": "perfcountd" } });
        } catch {
            limit.fail(unreachable(url));
        }
        if (response.ok)
            return response;
        const fault = await faultOf(response);
        if (fault.status === 401)
            this.refused = fault;
        limit.signal?.throwIfAborted();
        throw fault;
    }

    // Returns the response once its headers have arrived. Throws a Fault, or the abort reason of `signal`.
    async ask(method, path, { parameters, signal, patience = patienceMs } = {}) {
        const limit = new Limit(signal, patience);

        try {
            const response = await this.answer(method, this.url(path, parameters), limit);
            limit.relax();
            return response;
        } catch (error) {
            limit.done();
            throw error;
        }
    }

    // Sends a request and returns the response body as text.
    async text(path, { method = "GET", parameters, signal, patience = patienceMs } = {}) {
        const limit = new Limit(signal, patience);

        try {
            const response = await this.answer(method, this.url(path, parameters), limit);
            return await response.text().catch(() => limit.fail(new Fault("The daemon's answer was cut off.")));
        } finally {
            limit.done();
        }
    }

    // Sends a request and returns the response body as parsed JSON.
    async json(path, options = {}) {
        const text = await this.text(path, options);

        try {
            return JSON.parse(text);
        } catch {
            throw new Fault(
                "The answer does not come from perfcountd: a proxy may want you to log in. Load the page again.");
        }
    }
}
