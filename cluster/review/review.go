// Package review asks a Kubernetes cluster for the user of a token, and for what a user may do. It remembers the answers
// for a while, so they count while the API server is away. Without an answer, the request is refused.
//
// Start reading at Reviewer.
package review

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"
)

// maxAnswers bounds the answers that are remembered.
const maxAnswers = 8192

// timeout bounds a question: a request waits for the answer.
const timeout = 10 * time.Second

// Memory holds how long answers count.
type Memory struct{ Token, Allowed, Denied time.Duration }

// Reviewer asks one cluster.
type Reviewer struct {
	client  rest.Interface
	memory  Memory
	answers *cache.LRUExpireCache // by the digest of the question
}

// New returns a reviewer that has asked nothing yet.
func New(api *rest.Config, memory Memory) (*Reviewer, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // for errors
	c := rest.CopyConfig(api)
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return &Reviewer{client: client, memory: memory, answers: cache.NewLRUExpireCache(maxAnswers)}, nil
}

// Owner returns the user of a token, and false if the token is unknown.
func (r *Reviewer) Owner(ctx context.Context, token string) (authenticationv1.UserInfo, bool, error) {
	review := &authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token},
	}
	err := r.ask(ctx, "/apis/authentication.k8s.io/v1/tokenreviews", review, func() time.Duration {
		return r.memory.Token
	})
	return review.Status.User, review.Status.Authenticated, err
}

// Question is the spec of a SubjectAccessReview: a user, and what it wants to reach. Its form is the API server's, so
// the node's own code has a smaller one (auth.Access). Kubernetes' type would add a fifth of a megabyte to the program.
type Question struct {
	User     string              `json:"user,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
	Resource Resource            `json:"resourceAttributes"`
}

// Resource names what a user wants to reach, and how.
type Resource struct {
	Verb        string `json:"verb"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
}

type accessReview struct {
	metav1.TypeMeta `json:",inline"`
	Spec            Question `json:"spec"`
	Status          struct {
		Allowed bool `json:"allowed"`
		Denied  bool `json:"denied"`
	} `json:"status"`
}

// May reports whether the cluster allows what is asked.
func (r *Reviewer) May(ctx context.Context, q Question) (bool, error) {
	review := &accessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec:     q,
	}
	err := r.ask(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, func() time.Duration {
		if review.Status.Allowed {
			return r.memory.Allowed
		}
		return r.memory.Denied
	})
	return review.Status.Allowed && !review.Status.Denied, err
}

// ask fills in a review, from memory if it was answered before. lifetime returns how long a new answer counts.
func (r *Reviewer) ask(ctx context.Context, path string, review any, lifetime func() time.Duration) error {
	question, err := json.Marshal(review)
	if err != nil {
		return err
	}
	key := sha256.Sum256(question) // the question itself may hold a token
	known, ok := r.answers.Get(key)
	if ok {
		return json.Unmarshal(known.([]byte), review)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request := r.client.Post().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(question)
	answer, err := request.Do(ctx).Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, review); err != nil {
		return fmt.Errorf("read the API server's answer: %w", err)
	}
	r.answers.Add(key, answer, lifetime())
	return nil
}
