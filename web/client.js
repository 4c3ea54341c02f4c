// SPDX-License-Identifier: Apache-2.0
// Requests to the daemon that the page is from. All paths are relative, so that the page works below any prefix of a
// reverse proxy. A failure is a Fault, whose message is a sentence for the reader.

export class Fault extends Error {
    // `status` is of HTTP; 0: there was no answer. `retry_after` is in seconds.
    constructor(sentence, status = 0, retry_after = null) {
        super(sentence);
        this.status = status;
        this.retry_after = retry_after;
    }
}

// Longer than any answer takes whose headers do not wait for something; rates wait for as long as they were asked to.
const patience_ms = 15000;

async function said(response) {
    const text = (await response.text().catch(() => "")).slice(0, 1000);

    try {
        return String(JSON.parse(text).error);
    } catch {
        return text.trim();
    }
}

function sentence_of(status, text) {
    switch (status) {
    case 401:
        return "The daemon wants a password. Load the page again to be asked for it.";
    case 403:
        return text || "The daemon does not allow this for you.";
    case 503:
        return text || "The daemon is busy.";
    default:
        return text || `The daemon answered with status ${status}.`;
    }
}

async function fault_of(response) {
    const after = Number(response.headers.get("Retry-After"));

    return new Fault(sentence_of(response.status, await said(response)), response.status, after > 0 ? after : null);
}

export class Client {
    constructor(base) {
        this.base = base;
    }

    // `parameters`: {name: value or [values]}; what is "", null or undefined is left out.
    url(path, parameters = {}) {
        const url = new URL(path, this.base);

        for (const [name, values] of Object.entries(parameters))
            for (const value of [values].flat())
                if (value !== undefined && value !== null && value !== "")
                    url.searchParams.append(name, String(value));
        return url.href;
    }

    // The response, once its headers are here. Throws a Fault, or what `signal` was aborted with.
    async ask(method, path, { parameters, signal, patience = patience_ms } = {}) {
        const late = new AbortController();
        const timer = setTimeout(() => late.abort(), patience);
        const stop = () => late.abort();
        let response;

        signal?.addEventListener("abort", stop);
        try {
            response = await fetch(this.url(path, parameters), { method, signal: late.signal, cache: "no-store" });
        } catch {
            signal?.throwIfAborted();
            throw new Fault(late.signal.aborted ? "The daemon does not answer." : "The daemon cannot be reached.");
        } finally {
            clearTimeout(timer);
        }
        if (!response.ok)
            throw await fault_of(response);
        return response;
    }

    // A document of JSON.
    async json(path, options = {}) {
        const response = await this.ask(options.method ?? "GET", path, options);

        try {
            return await response.json();
        } catch {
            options.signal?.throwIfAborted();
            throw new Fault("The answer of the daemon broke off.");
        }
    }
}
