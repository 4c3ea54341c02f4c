/* SPDX-License-Identifier: Apache-2.0 */
/* The formula of a derived metric: see formula.h. */
#include "metrics/formula.h"

#include <math.h>

#include "base/number.h"

static bool starts_name(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* strspn(3) costs more than all else here: it makes a table of the characters each time. */
static size_t name_size(const char *text)
{
    size_t size = 0;

    while (starts_name(text[size]) || is_digit(text[size]) || text[size] == '_')
        size++;
    return size;
}

static size_t number_size(const char *text)
{
    size_t size = 0;

    while (is_digit(text[size]) || text[size] == '.')
        size++;
    return size;
}

/* No formula of the table needs more. */
#define DEPTH_MAX 8

struct formula_parser {
    const char *text, *at;
    struct formula *formula;
    unsigned depth; /* of parentheses */
    struct error *error;
};

static int parser_fail(const struct formula_parser *parser, const char *message)
{
    return error_set_at(parser->error, -EINVAL, (size_t)(parser->at - parser->text), "%s", message);
}

static void parser_skip_spaces(struct formula_parser *parser)
{
    while (*parser->at == ' ')
        parser->at++;
}

static int parser_add(struct formula_parser *parser, struct formula_step step)
{
    struct formula *formula = parser->formula;

    if (formula->n_steps == FORMULA_STEPS_MAX)
        return parser_fail(parser, "the formula is too long");
    formula->steps[formula->n_steps++] = step;
    return 0;
}

static int parse_number(struct formula_parser *parser)
{
    size_t size = number_size(parser->at);
    char text[32];
    double number;

    if (size >= sizeof(text))
        return parser_fail(parser, "the number is too long");
    memcpy(text, parser->at, size);
    text[size] = '\0';
    if (number_parse_double(text, &number) < 0)
        return parser_fail(parser, "this is no number");
    parser->at += size;
    return parser_add(parser, (struct formula_step){.kind = FORMULA_NUMBER, .number = number});
}

static int parse_name(struct formula_parser *parser)
{
    struct formula *formula = parser->formula;
    size_t size = name_size(parser->at), i = 0;

    if (size >= FORMULA_NAME_SIZE)
        return parser_fail(parser, "the name is too long");
    while (i < formula->n_names &&
           (strncmp(formula->names[i], parser->at, size) != 0 || formula->names[i][size] != '\0'))
        i++;
    if (i == FORMULA_NAMES_MAX)
        return parser_fail(parser, "the formula has too many names");
    if (i == formula->n_names)
        memcpy(formula->names[formula->n_names++], parser->at, size);
    parser->at += size;
    return parser_add(parser, (struct formula_step){.kind = FORMULA_OPERAND, .operand = (unsigned)i});
}

static int parse_sum(struct formula_parser *parser);

static int parse_parentheses(struct formula_parser *parser)
{
    if (parser->depth++ == DEPTH_MAX)
        return parser_fail(parser, "the parentheses are too deep");
    parser->at++;
    int r = parse_sum(parser);
    if (r < 0)
        return r;
    if (*parser->at != ')')
        return parser_fail(parser, "expected \")\"");
    parser->at++;
    parser->depth--;
    return 0;
}

static int parse_operand(struct formula_parser *parser)
{
    int r;

    parser_skip_spaces(parser);
    if (*parser->at == '(')
        r = parse_parentheses(parser);
    else if (is_digit(*parser->at))
        r = parse_number(parser);
    else if (starts_name(*parser->at))
        r = parse_name(parser);
    else
        r = parser_fail(parser, "expected a number, a name or \"(\"");
    parser_skip_spaces(parser);
    return r;
}

/* Operands of `next` with any of `operators` between them: they group from the left. */
static int parse_chain(struct formula_parser *parser, const char *operators, int (*next)(struct formula_parser *parser))
{
    int r = next(parser);

    while (r == 0 && *parser->at && strchr(operators, *parser->at)) {
        char sign = *parser->at++;
        r = next(parser);
        if (r == 0)
            r = parser_add(parser, (struct formula_step){.kind = FORMULA_OPERATOR, .sign = sign});
    }
    return r;
}

static int parse_product(struct formula_parser *parser)
{
    return parse_chain(parser, "*/", parse_operand);
}

static int parse_sum(struct formula_parser *parser)
{
    return parse_chain(parser, "+-", parse_product);
}

int formula_parse(const char *text, struct formula *ret, struct error *error)
{
    struct formula formula = {0};
    struct formula_parser parser = {.text = text, .at = text, .formula = &formula, .error = error};
    int r = parse_sum(&parser);

    if (r == 0 && *parser.at)
        r = parser_fail(&parser, "expected an operator");
    if (r == 0)
        *ret = formula;
    return r;
}

void formula_first_name(const char *text, char name[FORMULA_NAME_SIZE])
{
    while (*text && !starts_name(*text))
        text++;
    size_t size = MIN(name_size(text), (size_t)FORMULA_NAME_SIZE - 1);
    memcpy(name, text, size);
    name[size] = '\0';
}

static double operator_value(char sign, double left, double right)
{
    switch (sign) {
    case '+':
        return left + right;
    case '-':
        return left - right;
    case '*':
        return left * right;
    default:
        return right > 0 ? left / right : NAN;
    }
}

double formula_value(const struct formula_step *steps, size_t n, const double *operands)
{
    double stack[FORMULA_STEPS_MAX];
    size_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        const struct formula_step *step = &steps[i];
        if (step->kind == FORMULA_OPERATOR) {
            depth--;
            stack[depth - 1] = operator_value(step->sign, stack[depth - 1], stack[depth]);
        } else {
            stack[depth++] = step->kind == FORMULA_NUMBER ? step->number : operands[step->operand];
        }
    }
    return stack[0];
}
