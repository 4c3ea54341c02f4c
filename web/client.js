// SPDX-License-Identifier: Apache-2.0
// Requests to the daemon that the page is from. All paths are relative, so that the page works below any prefix of a
// reverse proxy. A failure is a Fault, whose message is a sentence for the reader.

export class Fault extends Error {
    // `status` is of HTTP; 0: there was no answer. `retryAfter` is in seconds. `reason` is what the daemon said.
    constructor(sentence, { status = 0, retryAfter = null, reason = "" } = {}) {
        super(sentence);
        this.status = status;
        this.retryAfter = retryAfter;
        this.reason = reason;
    }
}

// Longer than any answer takes whose headers do not wait for something; rates wait for as long as they were asked to.
const patienceMs = 15000;
const longestRetryS = 600;
const reasonSize = 4000;

// A daemon on the reader's own computer needs no network.
function unreachable(url) {
    const offline = globalThis.navigator?.onLine === false &&
        !/^(localhost$|127\.|\[::1\])/.test(new URL(url).hostname);

    return new Fault(`The daemon cannot be reached${offline ? ": this computer has no network" : ""}.`);
}

// The reason in an answer of ours. The pages of proxies are HTML, and of no use here.
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
    401: "The daemon wants a password, or another one than before",
    403: "The daemon does not allow this",
    429: "The daemon takes no more requests for now",
    502: "The proxy before the daemon does not reach it",
    503: "The daemon is busy",
    504: "The proxy before the daemon gets no answer from it",
};

async function faultOf(response) {
    const { status } = response;
    const reason = await reasonOf(response);
    const after = Number(response.headers.get("Retry-After"));
    const opening = openings[status] ?? `The daemon answers with status ${status}`;

    return new Fault(`${opening}${reason && status !== 401 ? `: ${reason}` : ""}.`.replace(/\.\.$/, "."), {
        status, reason, retryAfter: after > 0 ? Math.min(after, longestRetryS) : null });
}

// Ends a request when the reader's signal does, and when patience is over.
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

    // The answer may take its time from now on.
    relax() {
        clearTimeout(this.timer);
    }

    done() {
        this.relax();
        this.signal?.removeEventListener("abort", this.abort);
    }

    // Throws what the reader's signal was aborted with, else a Fault: that of lateness, or `otherwise`.
    fail(otherwise) {
        this.signal?.throwIfAborted();
        throw this.late ? new Fault("The daemon does not answer in time.") : otherwise;
    }
}

export class Client {
    constructor(base) {
        this.base = base;
        this.refused = null; // the Fault of a 401
    }

    // `parameters`: {name: value or [values]}; what is "", null or undefined is left out.
    url(path, parameters = {}) {
        const url = new URL(path, this.base);

        // Of a page from http://NAME:PASSWORD@HOST/: the browser knows them, and fetch refuses them here.
        url.username = url.password = "";
        for (const [name, values] of Object.entries(parameters))
            for (const value of [values].flat())
                if (value !== undefined && value !== null && value !== "")
                    url.searchParams.append(name, String(value));
        return url.href;
    }

    // By the header the daemon knows its own page, also at an address that the browser does not trust, as
    // http://192.0.2.1/: a page of another origin would have to ask the daemon before it sends one.
    //
    // After a 401 the browser has forgotten the password: it would send what follows without one, and ask its user each
    // time. Nothing is asked for until the page is loaded again.
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

    // The response, once its headers are here. Throws a Fault, or what `signal` was aborted with.
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

    // The whole text of an answer.
    async text(path, { method = "GET", parameters, signal, patience = patienceMs } = {}) {
        const limit = new Limit(signal, patience);

        try {
            const response = await this.answer(method, this.url(path, parameters), limit);
            return await response.text().catch(() => limit.fail(new Fault("The answer of the daemon broke off.")));
        } finally {
            limit.done();
        }
    }

    // A document of JSON.
    async json(path, options = {}) {
        const text = await this.text(path, options);

        try {
            return JSON.parse(text);
        } catch {
            throw new Fault(
                "The answer is not one of perfcountd: a proxy may want you to log in. Load the page again.");
        }
    }
}
