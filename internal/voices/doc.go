// Package voices keeps voices that were made of clips: one file for each in a folder,
// with the reference that the model speaks by and what people want to know of it.
//
// A file is JSON that also mynah say --reference takes. Names are for people and never
// become paths: the file of a voice is found by an escaped form of its name in which case
// does not count. Files appear whole or not at all, whatever happens to the process or
// to the disk. Several processes may use one folder: those that change it wait for each
// other, and all see at once what any of them has changed.
package voices
