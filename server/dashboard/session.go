package dashboard

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/server/auth"
	"nodal/server/method"
	"nodal/server/wire"
)

const (
	sessionPath = root + "session"
	codePath    = root + "code"

	// MaxProof bounds the body that a browser signs in with, in bytes.
	MaxProof = 4 << 10
)

// Sessions lets browsers in. POST /ui/session takes a code or a token and sets a cookie,
// GET shows the signed-in user, DELETE signs out. POST /ui/code makes a code, for a
// caller that proves itself with something else than a cookie. The refused handler
// answers other callers.
func Sessions(a *auth.Authenticator, reach Reach, limits wire.BodyLimits, refused http.Handler) http.Handler {
	limits.Bytes = MaxProof
	known := func(handle http.HandlerFunc) http.Handler { return a.HTTP(handle, refused) }
	handlers := map[string]http.Handler{
		"GET " + sessionPath: known(func(w http.ResponseWriter, r *http.Request) { tellWho(w, r, method.Full) }),
		"POST " + sessionPath: wire.ReadBody(limits, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			signIn(a, w, r)
		})),
		"DELETE " + sessionPath: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			signOut(a, w, r)
		}),
		"POST " + codePath: known(func(w http.ResponseWriter, r *http.Request) { issueCode(a, reach, w, r) }),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		handler, ok := handlers[r.Method+" "+r.URL.Path]
		if !ok {
			wire.WriteText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// ReadOnlySession shows the viewer that every caller is on the read-only port.
func ReadOnlySession() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet || r.URL.Path != sessionPath {
			wire.WriteText(w, http.StatusNotFound, "404: Page Not Found")
			return
		}
		tellWho(w, r, method.ReadOnly)
	})
}

// who holds what the page has to know of its user: it shows no button that the user may
// not press.
type who struct {
	Name string      `json:"name"`
	Role auth.Role   `json:"role"`
	Via  string      `json:"via"`
	Can  []auth.Verb `json:"can"`
	// Live: there are watches and logs here, which the read-only port has not.
	Live bool `json:"live"`
}

func tellWho(w http.ResponseWriter, r *http.Request, on method.Listeners) {
	id, _ := auth.From(r.Context())
	writeWho(w, id, on)
}

func writeWho(w http.ResponseWriter, id auth.Identity, on method.Listeners) {
	me := who{Name: id.Name, Role: id.Role, Via: id.Via, Can: []auth.Verb{}, Live: on == method.Full}
	for _, verb := range []auth.Verb{auth.Read, auth.Write, auth.Exec, auth.Admin} {
		if auth.Allow(id.Role, verb) && (on == method.Full || verb == auth.Read) {
			me.Can = append(me.Can, verb)
		}
	}
	body, err := json.Marshal(me)
	if err != nil {
		wire.WriteStatus(w, status.Convert(err))
		return
	}
	wire.WriteJSON(w, append(body, '\n'))
}

func signIn(a *auth.Authenticator, w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil {
		wire.WriteStatus(w, status.New(codes.FailedPrecondition, "browsers sign in over TLS only"))
		return
	}
	var proof auth.Proof
	if err := json.NewDecoder(r.Body).Decode(&proof); err != nil {
		wire.WriteStatus(w, status.New(codes.InvalidArgument, "sign in: the body has to be {\"code\": ...} or {\"token\": ...}"))
		return
	}
	cookie, id, err := a.SignIn(r, proof)
	if err != nil {
		wire.WriteStatus(w, wire.StatusOf(err))
		return
	}
	http.SetCookie(w, cookie)
	writeWho(w, id, method.Full)
}

func signOut(a *auth.Authenticator, w http.ResponseWriter, r *http.Request) {
	cookie, err := a.SignOut(r)
	if err != nil {
		wire.WriteStatus(w, wire.StatusOf(err))
		return
	}
	http.SetCookie(w, cookie)
	w.WriteHeader(http.StatusNoContent)
}

// Reach holds the addresses at which browsers find the node.
type Reach struct {
	Hosts []string // names and addresses, the nearest first
	Port  int      // 0: there is none
}

// Invitation is the answer to a request for a code.
type Invitation struct {
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expiresAt"`
	Links     []string  `json:"links"`
}

// issueCode answers with links. The code is behind the #, where no log and no
// other server gets to see it.
func issueCode(a *auth.Authenticator, reach Reach, w http.ResponseWriter, r *http.Request) {
	if reach.Port == 0 {
		wire.WriteStatus(w, status.New(codes.FailedPrecondition, "the node has no TLS port, where the dashboard would be"))
		return
	}
	code, expires, err := a.IssueCode(r.Context())
	if err != nil {
		wire.WriteStatus(w, wire.StatusOf(err))
		return
	}
	invitation := Invitation{Code: code, ExpiresAt: expires, Links: []string{}}
	for _, host := range reach.Hosts {
		address := net.JoinHostPort(host, strconv.Itoa(reach.Port))
		invitation.Links = append(invitation.Links, "https://"+address+root+"#code="+code)
	}
	body, err := json.Marshal(invitation)
	if err != nil {
		wire.WriteStatus(w, status.Convert(err))
		return
	}
	wire.WriteJSON(w, append(body, '\n'))
}
