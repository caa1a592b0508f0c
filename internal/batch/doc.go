// Package batch makes a folder of finished audio from a file of texts.
//
//	Read, ReadBook    a file → Items, each a text with its settings, or with what is wrong with it
//	NewJob            Items and a folder → what is there, what is to be moved, what is to be made
//	Job.Run           makes it, through an Engine, with several streams at once
//	Job.RunBy         has it made by a Maker, which may be anywhere
//
// An Order is all that decides the bytes of a file; a Station makes the file of one with
// an Engine. Names, manifest, captions, joined files and resuming are of the Job alone, wherever
// orders are made.
//
// Every item has a digest over all that decides its file: text, voice, settings, seed,
// model, precision, instruction level, version. The folder's manifest.jsonl has a line
// for each file that was made, written before the file gets its name. A file is
// finished if it is there, in the size and with the digest of its line; so a job that was
// killed at any moment goes on where it was, and one that is finished has nothing to do.
// Files that no line accounts for are never written over.
//
// The seed of an item that has none comes from the job's seed and the item's id, or from
// its text if it has no id: an item keeps its audio when others come and go. Which items
// run beside it changes nothing either: the engine promises that.
//
// The audio of an item goes to a file of raw samples first (spool), from which it is
// read as often as needed: once to write it, before that once or twice to measure its
// loudness. Memory therefore does not grow with the length or the number of items, but
// for the texts and manifest lines themselves.
package batch
