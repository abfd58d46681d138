package review

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// apiserver knows one token and lets alice read.
type apiserver struct {
	*httptest.Server
	asked int
}

func newServer(t *testing.T) *apiserver {
	s := &apiserver{}
	answer := func(review any, fill func()) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s.asked++
			if err := json.NewDecoder(r.Body).Decode(review); err != nil {
				t.Error(err)
			}
			fill()
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(review)
		}
	}
	mux := http.NewServeMux()
	token, access := &authenticationv1.TokenReview{}, &authorizationv1.SubjectAccessReview{}
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", answer(token, func() {
		token.Status = authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}
		if token.Spec.Token == "good" {
			token.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "alice", Groups: []string{"staff"}}}
		}
	}))
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", answer(access, func() {
		access.Status.Allowed = access.Spec.User == "alice" && access.Spec.ResourceAttributes.Verb == "get"
		access.Status.EvaluationError = "a role is missing"
	}))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *apiserver) reviewer(t *testing.T, memory Memory) *Reviewer {
	r, err := New(&rest.Config{Host: s.URL}, memory)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func spec(user, verb string) Question {
	return Question{User: user, Resource: Resource{Verb: verb, Resource: "nodes"}}
}

func TestAnswersAreRememberedOverAnAPIServerThatIsAway(t *testing.T) {
	s := newServer(t)
	r := s.reviewer(t, Memory{Token: time.Hour, Allowed: time.Hour, Denied: time.Hour})
	check := func(when string) {
		t.Helper()
		if user, ok, err := r.Owner(t.Context(), "good"); err != nil || !ok || user.Username != "alice" || len(user.Groups) != 1 {
			t.Errorf("%s: the token is of %+v, %t, %v", when, user, ok, err)
		}
		if user, ok, err := r.Owner(t.Context(), "bad"); err != nil || ok {
			t.Errorf("%s: a wrong token is of %+v, %v", when, user, err)
		}
		for verb, want := range map[string]bool{"get": true, "create": false} {
			if got, err := r.May(t.Context(), spec("alice", verb)); err != nil || got != want {
				t.Errorf("%s: alice may %s: %t, %v", when, verb, got, err)
			}
		}
	}
	check("at first")
	check("again")
	if s.asked != 4 {
		t.Errorf("the API server was asked %d times, want once each", s.asked)
	}
	s.Close()
	check("away from the API server")
	if _, _, err := r.Owner(t.Context(), "other"); err == nil {
		t.Error("away from the API server a token that it was not asked about is decided")
	}
	if _, err := r.May(t.Context(), spec("bob", "get")); err == nil {
		t.Error("away from the API server a right that it was not asked about is decided")
	}
}

func TestAnAnswerIsGoodForItsTime(t *testing.T) {
	s := newServer(t)
	r := s.reviewer(t, Memory{Allowed: time.Hour}) // and nothing else
	for range 2 {
		if _, _, err := r.Owner(t.Context(), "good"); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"get", "create"} {
			if _, err := r.May(t.Context(), spec("alice", verb)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.asked != 5 {
		t.Errorf("the API server was asked %d times, want 5: one answer of three is remembered", s.asked)
	}
}
