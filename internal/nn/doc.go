// Package nn holds the layers that the models are made of: linear maps,
// embeddings, RMSNorm, rotary positions, and a stack of decoder layers with
// grouped-query attention over a KV cache.
//
// Weights are read-only and shared by all requests; a Cache belongs to one
// sequence; a Scratch and a Work belong to the goroutine that computes. Matrices
// are row-major, activations are [rows, width] without padding.
//
// A row of a batch is computed exactly as it would be alone: every output's order
// of sums depends on its own row and weights, never on how many rows or workers
// there are. Prefill in slices, single steps and batches therefore agree bit for
// bit.
package nn
