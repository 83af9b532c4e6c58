"""Reading a judge's reply: a tolerant parser, what stands where, which objects are verdicts, and what they say."""
