// SPDX-License-Identifier: Apache-2.0
// Finds the frames whose names contain a text, and the share of samples with such a frame.
import { Pattern } from "./pattern.js";

const longestName = 8192; // at most this many characters of a name are matched; names from the daemon are not longer
const patienceMs = 1000;

// Plain text is matched regardless of case. "/text/" is a regular expression; the flags i, m, s and u may follow.
function tester(text) {
    const [, pattern, flags] = /^\/(.+)\/([imsu]*)$/s.exec(text) ?? [];
    const wanted = text.toLowerCase();

    if (pattern === undefined)
        return (name) => name.toLowerCase().includes(wanted);
    const parsed = new Pattern(pattern, flags);
    const end = performance.now() + patienceMs;
    return (name) => {
        if (performance.now() > end)
            throw new Error(`it takes longer than ${patienceMs / 1000} s`);
        return parsed.test(name.slice(0, longestName));
    };
}

// Returns a function that caches the result of `test` for each name.
function remembered(test) {
    const known = new Map();

    return (name) => {
        let found = known.get(name);

        if (found === undefined)
            known.set(name, found = test(name));
        return found;
    };
}

function find(tree, matching) {
    const matches = new Set(), waiting = [[tree.root, false]];
    let weight = 0;

    while (waiting.length > 0) {
        const [node, inside] = waiting.pop(); // inside: an ancestor matches and includes these samples
        const found = node.parent !== null && matching(node.name);
        if (found)
            matches.add(node);
        weight += found && !inside ? node.total : 0;
        for (const child of node.children?.values() ?? [])
            waiting.push([child, inside || found]);
    }
    return { matches, weight, share: tree.total > 0 ? weight / tree.total : 0, error: null };
}

// Returns {matches: Set of nodes, weight, share, error}. A sample counts once, even if several of its frames match. If
// the text is not a valid pattern, `error` says why, and nothing matches; otherwise `error` is null.
export function search(tree, text) {
    const nothing = { matches: new Set(), weight: 0, share: 0, error: null };

    if (text === "")
        return nothing;
    try {
        return find(tree, remembered(tester(text)));
    } catch (error) {
        const reason = error.message.replace(/^Invalid regular expression: (\/.*\/\w*: )?/s, "");

        return { ...nothing, error: `The pattern ${text.slice(0, 100)} does not work: ${reason}.` };
    }
}
