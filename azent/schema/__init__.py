"""A function in, its JSON Schema out; JSON arguments in, Python objects out.

    introspect      what a function takes, as a JSON Schema that a model can fill in
    signature       the parameters of every kind of callable
    annotations     annotations as objects that pydantic can build
    types           the schemas of types
    docstrings      what a docstring says of a function and its parameters
    build           the way back: the objects that the function is called with
    render          schemas as text for a prompt: JSON, TypeScript or Python
    lint            what in schemas a small model will stumble over
    references      any JSON Schema without references, as far as that can be
    drafts          schemas from elsewhere, as JSON Schema 2020-12
    discriminators  OpenAPI's discriminators, written into the alternatives that they name
    validate        is a call legal: its name resolved, its input coerced, or its problem
    coerce, unions  values bent to what a schema asks for; which alternative is meant
    judge, faults   what jsonschema says, and that as sentences
    names           names and kinds of values, compared

Whatever cannot be offered is a SchemaError when it is introspected, not when it is called.
"""
