// Package wyoming frames the events of the Wyoming protocol, by which Home Assistant
// speaks with programs that hear and speak: a line of JSON with an event's type and the
// lengths of what follows, its data as JSON, and a payload of bytes. The package knows
// events and not connections.
package wyoming
