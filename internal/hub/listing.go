package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// File is one file of a commit.
type File struct {
	Path   string // with slashes, checked
	Size   int64  // bytes
	Digest string // SHA-256, or git's SHA-1 of a blob, in hexadecimal; the name of its blob in the cache
	Have   int64  // bytes of it that are in the cache
	There  bool   // all of it is there, and has its name in the snapshot
}

// api is an address of the hub's API.
func (c *client) api(repo string, rest ...string) *url.URL {
	u := *c.settings.Endpoint
	plain := "/api/models/" + repo
	escaped := plain
	for _, r := range rest {
		plain += "/" + r
		escaped += "/" + url.PathEscape(r)
	}
	base := u.EscapedPath()
	u.Path, u.RawPath = u.Path+plain, base+escaped
	return &u
}

// fileURL is the address of a file's content.
func (c *client) fileURL(repo, commit, path string) *url.URL {
	return c.settings.Endpoint.JoinPath(append(append(strings.Split(repo, "/"), "resolve", commit), segments(path)...)...)
}

func segments(path string) []string {
	all := strings.Split(path, "/")
	for i := range all {
		all[i] = url.PathEscape(all[i])
	}
	return all
}

// json fetches one JSON answer, and the Link header with it.
func (c *client) json(ctx context.Context, what string, target *url.URL) (data []byte, link string, err error) {
	tries := attempts{client: c, what: what}
	for {
		data, link, err = c.jsonOnce(ctx, target)
		if err == nil {
			return data, link, nil
		}
		if err := tries.again(ctx, err); err != nil {
			return nil, "", err
		}
	}
}

func (c *client) jsonOnce(ctx context.Context, target *url.URL) ([]byte, string, error) {
	a, err := c.open(ctx, http.MethodGet, target, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, "", err
	}
	defer a.close()
	if isPage(a.Header) {
		return nil, "", permanent(pageError(a.host))
	}
	data, err := io.ReadAll(io.LimitReader(a, maxPage+1))
	if err != nil {
		return nil, "", withoutURL(target, err)
	}
	if len(data) > maxPage {
		return nil, "", permanent(fmt.Errorf("%s: an answer has over %d MiB, that is too much", a.host, maxPage>>20))
	}
	return data, a.Header.Get("Link"), nil
}

// isPage reports whether an answer is a page for people.
func isPage(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Type"))), "text/html")
}

func pageError(host string) error {
	return fmt.Errorf("%s: answers with a web page (text/html); is there a proxy or a login between, or is HF_ENDPOINT no hub?", host)
}

// commit asks which commit a revision is at.
func (c *client) commit(ctx context.Context, n Name) (string, error) {
	data, _, err := c.json(ctx, n.String(), c.api(n.Repo, "revision", n.revision()))
	if err != nil {
		return "", c.explain(ctx, n, err)
	}
	var info struct {
		SHA      string `json:"sha"`
		Disabled bool   `json:"disabled"`
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return "", fmt.Errorf("%s: what the hub says of it is no JSON of the wanted form", n)
	}
	switch {
	case info.Disabled:
		return "", fmt.Errorf("%s: the hub has disabled it", n)
	case !commitPattern.MatchString(info.SHA):
		return "", fmt.Errorf("%s: the hub names the commit %.60q, wanted 40 hexadecimal digits", n, info.SHA)
	case commitPattern.MatchString(n.Revision) && info.SHA != n.Revision:
		return "", fmt.Errorf("%s: the hub answers with another commit, %s", n, info.SHA)
	}
	return info.SHA, nil
}

// explain tells apart why a hub does not show a repository.
func (c *client) explain(ctx context.Context, n Name, err error) error {
	var status *statusError
	if !errors.As(err, &status) || !status.own {
		return fmt.Errorf("%s: %w", n, err)
	}
	because := ""
	if status.message != "" {
		because = " (" + status.message + ")"
	}
	gated := status.code == "GatedRepo"
	switch {
	case status.status == http.StatusNotFound && status.code == "RevisionNotFound":
		return fmt.Errorf("%s: the repository has no revision %s", n.Repo, n.revision())
	case status.status == http.StatusNotFound && status.code == "":
		if _, _, e := c.jsonOnce(ctx, c.api(n.Repo)); e == nil {
			return fmt.Errorf("%s: the repository has no revision %s", n.Repo, n.revision())
		}
		fallthrough
	case status.status == http.StatusNotFound:
		return fmt.Errorf("%s: %s has no such repository, or it is private and HF_TOKEN does not open it", n.Repo, status.host)
	case gated && c.settings.Token == "":
		return fmt.Errorf("%s: is gated: accept its terms on its page, and set HF_TOKEN to a token of that account", n.Repo)
	case gated:
		return fmt.Errorf("%s: is gated, and the account of HF_TOKEN has no access%s", n.Repo, because)
	case status.status == http.StatusUnauthorized && c.settings.Token == "":
		return fmt.Errorf("%s: %s has no such repository, or it is private or gated: HF_TOKEN opens those", n.Repo, status.host)
	case status.status == http.StatusUnauthorized:
		return fmt.Errorf("%s: %s does not take the token of HF_TOKEN or the token file%s", n.Repo, status.host, because)
	case status.status == http.StatusForbidden:
		return fmt.Errorf("%s: access is refused%s", n.Repo, because)
	}
	return fmt.Errorf("%s: %w", n, err)
}

// list lists the files of a commit.
func (c *client) list(ctx context.Context, n Name, commit string) ([]File, error) {
	target := c.api(n.Repo, "tree", commit)
	target.RawQuery = "recursive=true"
	var all []File
	for range maxPages {
		data, link, err := c.json(ctx, n.String(), target)
		if err != nil {
			return nil, c.explain(ctx, n, err)
		}
		page, err := parsePage(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		if all = append(all, page...); len(all) > maxFiles {
			return nil, fmt.Errorf("%s: the listing has over %d files", n, maxFiles)
		}
		more, err := nextPage(target, link)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		if more == nil {
			if err := checkListing(all); err != nil {
				return nil, fmt.Errorf("%s: %w", n, err)
			}
			return all, nil
		}
		if !c.isOwn(more) {
			return nil, fmt.Errorf("%s: the listing goes on at another host, %s", n, more.Host)
		}
		target = more
	}
	return nil, fmt.Errorf("%s: the listing has over %d pages", n, maxPages)
}

// parsePage reads one page of a listing. Folders are left out. A file without a digest
// keeps none: it is an error only if it is to be fetched.
func parsePage(data []byte) ([]File, error) {
	var entries []struct {
		Type string `json:"type"`
		Path string `json:"path"`
		Size int64  `json:"size"`
		OID  string `json:"oid"`
		LFS  *struct {
			OID  string `json:"oid"`
			Size int64  `json:"size"`
		} `json:"lfs"`
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, errors.New("the listing is no JSON of the wanted form")
	}
	var files []File
	for _, e := range entries {
		if e.Type != "file" {
			continue
		}
		f := File{Path: e.Path, Size: e.Size, Digest: e.OID}
		if e.LFS != nil {
			f.Size, f.Digest = e.LFS.Size, strings.TrimPrefix(e.LFS.OID, "sha256:")
		}
		if f.Size < 0 || f.Size > maxFileSize {
			return nil, fmt.Errorf("the listing gives %.120q a size of %d bytes, allowed are 0 to %d", f.Path, f.Size, int64(maxFileSize))
		}
		if !digestPattern.MatchString(f.Digest) || e.LFS != nil && len(f.Digest) != sha256Digits {
			f.Digest = ""
		}
		files = append(files, f)
	}
	return files, nil
}

// checkListing refuses a listing in which a path stands twice, or is a folder as well.
// Whether paths are safe is looked at for those that are fetched.
func checkListing(files []File) error {
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	there := map[string]bool{}
	for _, f := range files {
		if there[f.Path] {
			return fmt.Errorf("the listing has %.120q twice", f.Path)
		}
		there[f.Path] = true
	}
	for _, f := range files {
		if len(f.Path) > maxPath {
			continue // it is never fetched, and millions of slashes would take hours
		}
		for i, c := range f.Path {
			if c == '/' && there[f.Path[:i]] {
				return fmt.Errorf("the listing has %.120q as a file and as a folder", f.Path[:i])
			}
		}
	}
	return nil
}

// nextPage is where a listing goes on, nil at its end.
func nextPage(from *url.URL, link string) (*url.URL, error) {
	for part := range strings.SplitSeq(link, ",") {
		target, params, ok := strings.Cut(strings.TrimSpace(part), ";")
		if !ok || !strings.Contains(strings.ReplaceAll(params, `"`, ""), "rel=next") {
			continue
		}
		u, err := from.Parse(strings.Trim(strings.TrimSpace(target), "<>"))
		if err != nil || u.Scheme != from.Scheme {
			return nil, errors.New("the listing goes on at no address")
		}
		return u, nil
	}
	return nil, nil
}
