// SPDX-License-Identifier: Apache-2.0
// The value of a derived metric's formula, "1000 * branch_misses / instructions", of sums: where a cgroup runs on
// several PMUs, a ratio of it is the ratio of their sums. The grammar is that of derived/formula.h.

const levels = ["+-", "*/"];

function number(left, sign, right) {
    switch (sign) {
    case "+": return left + right;
    case "-": return left - right;
    case "*": return left * right;
    default: return right > 0 ? left / right : NaN;
    }
}

// `value_of(name)` is a number, NaN where it is not known. The result is NaN where an operand is, or nothing divides.
export function value_of_formula(text, value_of) {
    const tokens = text.match(/[a-z][a-z0-9_]*|\d+(\.\d+)?|[-+*/()]/g) ?? [];
    let at = 0;

    function operand() {
        const token = tokens[at++] ?? "";
        if (token !== "(")
            return /^[a-z]/.test(token) ? value_of(token) : parseFloat(token);
        const inner = expression(0);
        at++;
        return inner;
    }

    function expression(level) {
        if (level === levels.length)
            return operand();
        let left = expression(level + 1);
        while (at < tokens.length && levels[level].includes(tokens[at]))
            left = number(left, tokens[at++], expression(level + 1));
        return left;
    }

    return expression(0);
}
