package voices

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Kind is what went wrong.
type Kind int

// The kinds of errors.
const (
	BadValue   Kind = iota // a name or another field that is not allowed
	NotFound               // no voice of that name
	Exists                 // a voice of that name is there, and was not to be replaced
	TooMany                // the most voices are kept
	OtherModel             // the voice is of another checkpoint
	Damaged                // the file of a voice is none, or broken
	Disk                   // the folder cannot be read or written: osfile.IsFull tells more
)

// Error is what stands in a voice's way, as one line for the user. It names no path
// unless Kind is Disk.
type Error struct {
	Kind    Kind
	Field   string // of the profile, for BadValue: "name" and so on
	Message string
	Err     error // the cause, or nil
}

func (e *Error) Error() string { return "voices: " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is an *Error of a kind.
func IsKind(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

func errorf(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func badValue(field, format string, args ...any) error {
	return &Error{Kind: BadValue, Field: field, Message: field + ": " + fmt.Sprintf(format, args...)}
}

// onDisk is a failure of the folder.
func onDisk(path string, err error) error {
	return &Error{Kind: Disk, Message: path + ": " + cause(err).Error(), Err: err}
}

// cause strips operation and path from an error of package os.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
