// Command go crawls one website and reports links that do not work.
//
// Usage:
//
//	linkcheck [-workers 8] [-depth 3] [-timeout 10s] https://example.org/
//
// Only pages on the starting host are followed; links to other hosts are
// checked once with a HEAD request and then left alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"sort"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

const (
	maxBodyBytes  = 2 << 20 // nobody writes pages longer than 2 MiB by hand
	maxRedirects  = 5
	userAgent     = "linkcheck/0.3 (+https://example.org/linkcheck)"
	defaultWorker = 8
)

var (
	hrefPattern = regexp.MustCompile(`(?i)<a\s[^>]*?href\s*=\s*["']([^"']*)["']`)

	errSkipped          = errors.New("link is not checked")
	errTooManyRedirects = fmt.Errorf("more than %d redirects", maxRedirects)
)

// A job is one link waiting to be checked.
type job struct {
	target *url.URL
	parent string
	depth  int
}

// A result is the outcome of one job. Found holds the links on the page, if
// the page is on the starting host.
type result struct {
	job
	status  int
	err     error
	found   []*url.URL
	elapsed time.Duration
}

func (r result) broken() bool {
	return r.err != nil || r.status >= http.StatusBadRequest
}

func (r result) String() string {
	if r.err != nil {
		return r.err.Error()
	}
	return fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))
}

// Checker fetches pages. Its zero value is not usable; call NewChecker.
type Checker struct {
	client *http.Client
	host   string

	mu    sync.Mutex
	bytes int64
}

// NewChecker returns a Checker which follows links on the given host.
func NewChecker(host string, timeout time.Duration) *Checker {
	return &Checker{
		host: host,
		client: &http.Client{
			Timeout: timeout,
			CheckRedirect: func(_ *http.Request, via []*http.Request) error {
				if len(via) >= maxRedirects {
					return errTooManyRedirects
				}
				return nil
			},
		},
	}
}

// Check fetches one link and, for internal pages, extracts further links.
func (c *Checker) Check(ctx context.Context, j job) (res result) {
	start := time.Now()
	res.job = j
	defer func() { res.elapsed = time.Since(start) }()

	internal := j.target.Host == c.host
	method := http.MethodHead
	if internal {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, j.target.String(), nil)
	if err != nil {
		res.err = fmt.Errorf("build request: %w", err)
		return res
	}
	req.Header.Set("User-Agent", userAgent)

	resp, err := c.client.Do(req)
	if err != nil {
		res.err = err
		return res
	}
	defer resp.Body.Close()
	res.status = resp.StatusCode

	isHTML := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
	if !internal || !isHTML || res.broken() {
		return res
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes))
	if err != nil {
		res.err = fmt.Errorf("read body: %w", err)
		return res
	}
	c.mu.Lock()
	c.bytes += int64(len(body))
	c.mu.Unlock()
	res.found = extractLinks(resp.Request.URL, string(body))
	return res
}

// extractLinks returns the links of a page in the order they appear. Links
// that differ only in their fragment are returned once.
func extractLinks(base *url.URL, body string) []*url.URL {
	var links []*url.URL
	seen := make(map[string]bool)
	for _, match := range hrefPattern.FindAllStringSubmatch(body, -1) {
		link, err := resolve(base, match[1])
		if err != nil || seen[link.String()] {
			continue
		}
		seen[link.String()] = true
		links = append(links, link)
	}
	return links
}

func resolve(base *url.URL, href string) (*url.URL, error) {
	href = strings.ReplaceAll(strings.TrimSpace(href), "&amp;", "&")
	link, err := base.Parse(href)
	if err != nil {
		return nil, err
	}
	switch link.Scheme {
	case "http", "https":
	default: // mailto:, tel:, javascript: and friends
		return nil, errSkipped
	}
	link.Fragment = ""
	if link.Path == "" {
		link.Path = "/"
	}
	return link, nil
}

// Crawl starts the workers and returns every result once no job is left.
func (c *Checker) Crawl(ctx context.Context, root *url.URL, workers, maxDepth int) []result {
	jobs := make(chan job)
	results := make(chan result)

	var wg sync.WaitGroup
	for i := 0; i < workers; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range jobs {
				results <- c.Check(ctx, j)
			}
		}()
	}

	visited := map[string]bool{root.String(): true}
	queue := []job{{target: root}}
	var all []result
	for pending := 0; len(queue) > 0 || pending > 0; {
		// A nil channel blocks forever, which disables the send below
		// while the queue is empty.
		var out chan<- job
		var next job
		if len(queue) > 0 {
			out, next = jobs, queue[0]
		}
		select {
		case out <- next:
			queue = queue[1:]
			pending++
		case res := <-results:
			pending--
			all = append(all, res)
			if res.depth >= maxDepth || ctx.Err() != nil {
				continue
			}
			for _, link := range res.found {
				if key := link.String(); !visited[key] {
					visited[key] = true
					queue = append(queue, job{link, res.target.String(), res.depth + 1})
				}
			}
		}
	}
	close(jobs)
	wg.Wait()
	return all
}

func report(w io.Writer, all []result) (broken int) {
	sort.Slice(all, func(i, j int) bool { return all[i].parent < all[j].parent })
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	defer tw.Flush()
	for _, r := range all {
		if r.broken() {
			broken++
			fmt.Fprintf(tw, "✗ %s\t%v\t(linked from %s)\n", r.target, r, r.parent)
		}
	}
	return broken
}

// selfTest runs the resolver against a table of tricky links.
func selfTest() error {
	base := &url.URL{Scheme: "https", Host: "example.org", Path: "/a/b.html"}
	tests := []struct {
		name, href, want string
	}{
		{"relative", "c.html", "https://example.org/a/c.html"},
		{"parent", "../d/", "https://example.org/d/"},
		{"fragment", "#top", "https://example.org/a/b.html"},
		{"entity", "/s?q=1&amp;p=2", "https://example.org/s?q=1&p=2"},
		{"other host", "//example.net", "https://example.net/"},
		{"umlaut", "/über", "https://example.org/%C3%BCber"},
		{"mail", "mailto:me@example.org", ""},
	}
	for _, tt := range tests {
		got := ""
		if link, err := resolve(base, tt.href); err == nil {
			got = link.String()
		}
		if got != tt.want {
			return fmt.Errorf("%s: resolve(%q) = %q, want %q", tt.name, tt.href, got, tt.want)
		}
	}
	return nil
}

func run(args []string) error {
	flags := flag.NewFlagSet("linkcheck", flag.ContinueOnError)
	workers := flags.Int("workers", defaultWorker, "number of parallel requests")
	depth := flags.Int("depth", 3, "how many clicks away from the first page")
	timeout := flags.Duration("timeout", 10*time.Second, "limit for one request")
	check := flags.Bool("selftest", false, "test the link resolver and exit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *check {
		return selfTest()
	}
	root, err := url.Parse(flags.Arg(0))
	if err != nil || root.Host == "" {
		return fmt.Errorf("not an absolute address: %q", flags.Arg(0))
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	checker := NewChecker(root.Host, *timeout)
	all := checker.Crawl(ctx, root, *workers, *depth)
	// TODO: honour robots.txt before anyone points this at a real site
	fmt.Printf("%d links, %.1f KiB\n", len(all), float64(checker.bytes)/1024)
	if n := report(os.Stdout, all); n > 0 {
		return fmt.Errorf("%d broken links", n)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "linkcheck:", err)
		os.Exit(1)
	}
}
