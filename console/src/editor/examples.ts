import type { ToolFields, ToolLanguage } from './tool-text.ts';

/** Initial code of a new tool. */
export const FIRST_CODE: Readonly<Record<ToolLanguage, string>> = {
  python: `def run(inputs, context):
    return {"outputs": {"hello": inputs.get("name", "world")}}
`,
  node: `export function run(inputs, context) {
  return { outputs: { hello: inputs.name ?? 'world' } };
}
`,
};

/** A complete example: a form, outputs, an action with inputs, and state between the two. */
export const EXAMPLE: ToolFields & { readonly name: string } = {
  name: 'Example: price list',
  language: 'python',
  entrypoint: 'run',
  source_code: `PRICES = {"apple": 3, "pear": 4, "plum": 2}


def run(inputs, context):
    if context["action_id"] == "discount":
        order = context["state"]
        total = order["total"] * (100 - inputs["percent"]) / 100
        return {"outputs": {**order, "total": total}}

    price = PRICES[inputs["fruit"]]
    order = {"fruit": inputs["fruit"], "total": price * inputs["count"]}
    print(f"{inputs['count']} at {price} each")
    return {
        "outputs": order,
        "state": order,
        "next_actions": [
            {
                "id": "discount",
                "title": "Give a discount",
                "input_schema": {
                    "type": "object",
                    "required": ["percent"],
                    "properties": {
                        "percent": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
                    },
                },
            }
        ],
    }
`,
  input_schema: {
    type: 'object',
    required: ['fruit', 'count'],
    properties: {
      fruit: { enum: ['apple', 'pear', 'plum'], default: 'apple' },
      count: { type: 'integer', minimum: 1, default: 6, description: 'How many of them' },
    },
  },
  settings_schema: null,
  usage_instructions: 'Run it, change the prices, and give a discount: it is on the prices of the run.',
};
