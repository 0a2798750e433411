"""Reply text and schemas in; calls, words, reasoning or a problem out. Pure.

reader             a whole reply, or one as it streams
answers            answers, which are never searched for calls
streaming          what of a reply can be shown while it comes
scanner            one pass over a reply, from left to right
standalone         whether a call stands alone, or is talked about
openings           where something other than prose may begin; fenced code
dialects           one table, a function for each way in which models write calls
candidates         every reading of a text, and the cheapest legal one
shapes             what a JSON value means as calls
decoding_schema    the schemas that decoding is held to
"""
