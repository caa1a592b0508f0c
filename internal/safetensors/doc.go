// Package safetensors opens checkpoints in the safetensors format, one file or an index of shards, and hands out
// typed views of their tensors with checked names, dtypes and shapes.
//
// A file is an 8-byte little-endian length, a JSON header of that length and then the data. The header is read
// strictly: every byte of the data belongs to exactly one tensor, every tensor's byte count follows from its dtype
// and shape, and nothing that the header claims decides how much memory is taken. A file that passes can be read to
// its end without a fault.
//
// Files of an operating system directory (os.DirFS) are mapped read-only and the views are the mapping itself; files
// of any other file system, an embedded one say, are read into memory once, and so are all files where the system has
// no mmap: on Windows above all. Views die with Set.Close. Nobody may write into a file that is mapped: views would
// change, and to touch what was cut off ends the program. A new file that is renamed to its name does no harm.
//
// Write makes such files, streaming, for tools and tests.
package safetensors
