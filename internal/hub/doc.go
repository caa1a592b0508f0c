// Package hub fetches checkpoints from a Hugging Face hub into the cache that Python's
// huggingface_hub uses, and finds, lists and removes what is there. A model that the one
// fetched is there for the other.
//
//	HF_HOME/hub/models--org--name/
//	  blobs/<digest>                    contents: SHA-256 for large files, git's SHA-1 for small ones
//	  refs/<revision>                   the commit that a branch or tag was at
//	  snapshots/<commit>/<path>         links into blobs, copies where there are no links
//	  .mynah/<commit>.json              which files were to be fetched, so that a snapshot tells what it lacks
//	HF_HOME/hub/.locks/models--org--name/<digest>.lock
//
// A revision is resolved once, and all files are those of that commit. A file is fetched in
// ranges, several at a time, into blobs/<digest>.mynah.incomplete, with a journal beside it of
// the ranges that are there; it gets its name when its size and digest are right and it is on
// the disk. Whatever ends the process before leaves what the next one goes on from. The name
// differs from Python's own <digest>.incomplete, which is appended to and would be taken for
// its beginning, but ends alike, so that its clean-up finds it.
//
// Everything that a server says is bounded and checked before it is used: sizes, numbers,
// digests, paths. The token goes to the endpoint's own scheme, host and port, nowhere else,
// and into no message.
package hub
