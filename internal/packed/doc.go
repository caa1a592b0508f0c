// Package packed is the form in which packed matrices are kept on disk: one
// safetensors file, mapped when it is opened, so that nothing is packed again and
// packed weights are not copied (but on Windows, where files are read into memory).
//
// There are two kinds. A model file, which `mynah quantize` writes, holds all that a
// checkpoint directory holds: packed matrices, the other tensors as they were, and the
// small files. A matrices file stands in the cache and holds the packed matrices
// alone; the directory that they came from has the rest.
//
// What a file is stands in its metadata. A checksum over packed matrices, the codec and
// small files is verified at opening; Verify does the same for the other tensors, which
// are embeddings for the most part: reading them would take longer than all the rest.
package packed
