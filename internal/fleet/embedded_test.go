package fleet

import (
	"net/url"
	"os"
	"testing"
)

// The address that workers on other machines are told is not one that means themselves.
func TestAddr(t *testing.T) {
	t.Parallel()
	name, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	s, err := StartServer("0.0.0.0:0", t.TempDir(), "token")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if u, err := url.Parse(s.Addr()); err != nil || u.Hostname() != name || u.Port() == "" || u.Port() == "0" {
		t.Errorf("it is told as %s, %v", s.Addr(), err)
	}
}
