//! Delivering messages: each chat at its own pace, in an order that keeps answers first, until they have arrived.
