package server

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/server/auth"
	"nodal/server/kube"
	"nodal/server/wire"
)

const (
	openPath = "/ui/open"
	// A page that is left open for longer asks for nothing, or it would not have come to this.
	passageLife  = time.Hour
	mostPassages = 256
	// A user who opens more loses the one of their own that was used the longest ago.
	passagesEach = 32
	// mostOpening bounds the body that asks for a passage, in bytes.
	mostOpening = 4 << 10
)

// passages lets browsers see servers in pods. A page of a pod is apart from the dashboard: it has an origin of its own, and
// the requests for its parts have no cookie. So they prove themselves by their path, /ui/open/SECRET/: it leads to one port
// of one pod, and to no later pod of that name, with the rights of the session that has opened it, and no longer than that
// session lasts.
type passages struct {
	now func() time.Time

	mu   sync.Mutex
	open map[string]passage // by the secret
}

type passage struct {
	session auth.Borrowed
	owner   string // the name of its user, in any browser
	proxy   string // the escaped path of the pod's port in the Kubernetes API, without a slash at its end
	uid     string // of the pod that it has led to first, and leads to alone
	used    time.Time
}

func newPassages(now func() time.Time) *passages {
	return &passages{now: now, open: map[string]passage{}}
}

// Front opens passages for known callers at POST /ui/open, and leads requests through them to next. All others it passes on.
func (p *passages) Front(known func(http.Handler) http.Handler, limits wire.BodyLimits, next http.Handler) http.Handler {
	limits.Bytes = mostOpening
	asked := sameOrigin(wire.ReadBody(limits, known(http.HandlerFunc(p.openFor))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == openPath:
			asked.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, openPath+"/"):
			p.through(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// opening names a port of a pod.
type opening struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Port      uint16 `json:"port"`
	Scheme    string `json:"scheme"`
}

func (o opening) proxy() (string, error) {
	if o.Namespace == "" || o.Name == "" || o.Port == 0 || o.Scheme != "http" && o.Scheme != "https" {
		return "", status.Error(codes.InvalidArgument, `open a port: the body has to be {"namespace": ..., "name": ..., "port": ..., "scheme": "http" or "https"}`)
	}
	server := fmt.Sprintf("%s:%s:%d", o.Scheme, o.Name, o.Port)
	return "/api/v1/namespaces/" + url.PathEscape(o.Namespace) + "/pods/" + url.PathEscape(server) + "/proxy", nil
}

// openFor answers with the path of a new passage.
func (p *passages) openFor(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		wire.WriteText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
		return
	}
	path, err := p.add(r)
	if err != nil {
		wire.WriteStatus(w, wire.StatusOf(err))
		return
	}
	body, _ := json.Marshal(map[string]string{"path": path}) // strings always can be
	wire.WriteJSON(w, append(body, '\n'))
}

func (p *passages) add(r *http.Request) (path string, err error) {
	session, ok := auth.Borrow(r)
	if !ok {
		return "", status.Error(codes.FailedPrecondition, "open a port: only a browser that is signed in can; other programs use the pod's path /proxy/ of the Kubernetes API")
	}
	id, _ := auth.From(r.Context())
	if !auth.Allow(id.Role, auth.Exec) {
		return "", status.Error(codes.PermissionDenied, fmt.Sprintf("open a port: %q may not forward ports", id.Name))
	}
	var wanted opening
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		wanted = opening{}
	}
	proxy, err := wanted.proxy()
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.makeRoom(id.Name)
	secret := rand.Text()
	p.open[secret] = passage{session: session, owner: id.Name, proxy: proxy, used: p.now()}
	return openPath + "/" + secret + "/", nil
}

// makeRoom closes passages that were not used for long. If there are too many, it closes the one that was used the longest ago,
// of the owner's own if there are any.
func (p *passages) makeRoom(owner string) {
	var oldest, oldestOwn string
	own := 0
	for secret, one := range p.open {
		if p.now().Sub(one.used) > passageLife {
			delete(p.open, secret)
			continue
		}
		if oldest == "" || one.used.Before(p.open[oldest].used) {
			oldest = secret
		}
		if one.owner != owner {
			continue
		}
		own++
		if oldestOwn == "" || one.used.Before(p.open[oldestOwn].used) {
			oldestOwn = secret
		}
	}
	if own >= passagesEach || len(p.open) >= mostPassages {
		delete(p.open, cmp.Or(oldestOwn, oldest))
	}
}

// find returns an open passage.
func (p *passages) find(secret string) (passage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.open[secret]
	if !ok || p.now().Sub(one.used) > passageLife {
		return passage{}, false
	}
	one.used = p.now()
	p.open[secret] = one
	return one, true
}

// leads reports whether a passage leads to the pod with this UID. If the pod is another one, or none, the passage is closed.
func (p *passages) leads(secret, uid string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.open[secret]
	if !ok {
		return false
	}
	if uid == "" || one.uid != "" && one.uid != uid {
		delete(p.open, secret)
		return false
	}
	one.uid = uid
	p.open[secret] = one
	return true
}

// through serves a request at a passage as one to the pod's path in the Kubernetes API, by the session that has opened it.
func (p *passages) through(w http.ResponseWriter, r *http.Request, next http.Handler) {
	secret, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), openPath+"/"), "/")
	one, ok := p.find(secret)
	if !ok {
		w.Header().Set("Cache-Control", "no-store")
		wire.WriteText(w, http.StatusNotFound, "This address has ended. Open the port from the dashboard again.")
		return
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		kube.AllowAnyOrigin(w.Header())
		w.WriteHeader(http.StatusNoContent)
		return
	}
	lent := one.session.Lend(r)
	lent.URL.RawPath = one.proxy + "/" + rest
	path, err := url.PathUnescape(lent.URL.RawPath)
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, "400: Bad Request")
		return
	}
	lent.URL.Path, lent.RequestURI = path, lent.URL.RequestURI()
	next.ServeHTTP(w, lent.WithContext(kube.OpenedAt(lent.Context(), openPath+"/"+secret, func(uid string) bool { return p.leads(secret, uid) })))
}
