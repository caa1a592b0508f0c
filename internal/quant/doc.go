// Package quant turns matrices of a checkpoint into packed integers: 4-bit groups
// and 8-bit rows. What the packed forms mean, and the products over them, is in
// package kernel; this package chooses the codes.
package quant
