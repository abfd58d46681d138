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

// Sessions signs browsers in and out. POST /ui/session takes a code or a token and sets a
// cookie, GET shows the signed-in user, DELETE signs out. POST /ui/code makes a code for a
// caller that authenticates without a cookie. The handler refused answers other callers.
func Sessions(a *auth.Authenticator, reach Reach, limits wire.BodyLimits, refused http.Handler) http.Handler {
	limits.Bytes = MaxProof
	known := func(handle http.HandlerFunc) http.Handler { return a.HTTP(handle, refused) }
	handlers := map[string]http.Handler{
		"GET " + sessionPath: known(func(w http.ResponseWriter, r *http.Request) { showUser(w, r, method.Full) }),
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

// ReadOnlySession shows the user of the read-only port, on which every caller is a viewer.
func ReadOnlySession() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet || r.URL.Path != sessionPath {
			wire.WriteText(w, http.StatusNotFound, "404: Page Not Found")
			return
		}
		showUser(w, r, method.ReadOnly)
	})
}

// user describes the signed-in user to the page, which hides what the user may not do.
type user struct {
	Name string      `json:"name"`
	Role auth.Role   `json:"role"`
	Via  string      `json:"via"`
	Can  []auth.Verb `json:"can"`
	// Live reports whether there are watches and logs. The read-only port has none.
	Live bool `json:"live"`
	// Namespaces are those to which the role is narrowed.
	Namespaces []string `json:"namespaces,omitempty"`
}

func showUser(w http.ResponseWriter, r *http.Request, on method.Listeners) {
	id, _ := auth.From(r.Context())
	writeUser(w, id, on)
}

func writeUser(w http.ResponseWriter, id auth.Identity, on method.Listeners) {
	me := user{Name: id.Name, Role: id.Role, Via: id.Via, Can: []auth.Verb{}, Live: on == method.Full, Namespaces: id.Namespaces}
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
		wire.WriteStatus(w,
			status.New(codes.InvalidArgument, "sign in: the body has to be {\"code\": ...} or {\"token\": ...}"))
		return
	}
	cookie, id, err := a.SignIn(r, proof)
	if err != nil {
		wire.WriteStatus(w, wire.StatusOf(err))
		return
	}
	http.SetCookie(w, cookie)
	writeUser(w, id, method.Full)
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
	Port  int      // 0 if there is none
}

// Invitation is the answer to a request for a code.
type Invitation struct {
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expiresAt"`
	Links     []string  `json:"links"`
}

// issueCode answers with links. The code stands after the #, so that browsers send it to no
// server and no log holds it.
func issueCode(a *auth.Authenticator, reach Reach, w http.ResponseWriter, r *http.Request) {
	if reach.Port == 0 {
		wire.WriteStatus(w, status.New(codes.FailedPrecondition, "browser code: the node serves no TLS port; set --port"))
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
