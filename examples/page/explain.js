// Explains any number of a recorded pass (pass.h) from the operation that computed it.
