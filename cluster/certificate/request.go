package certificate

import (
	"context"
	"crypto"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// errRefused means that a request will never be granted.
var errRefused = errors.New("the request was refused")

// authority is the part of the cluster's API that issues certificates.
type authority struct {
	client rest.Interface
	codec  runtime.ParameterCodec
}

// dial returns a client of the authority.
func dial(config *rest.Config) (*authority, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	if err := certificatesv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &certificatesv1.SchemeGroupVersion, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return &authority{client, runtime.NewParameterCodec(scheme)}, nil
}

// issue requests a certificate and waits for it. A second call with the same key waits for the same request.
func (a *authority) issue(ctx context.Context, wanted Wanted, key crypto.Signer) (chain []byte, err error) {
	asked, err := wanted.request(key)
	if err != nil {
		return nil, err
	}
	found := &certificatesv1.CertificateSigningRequest{}
	err = a.client.Post().Resource(resource).Body(asked).Do(ctx).Into(found)
	if apierrors.IsAlreadyExists(err) {
		err = a.client.Get().Resource(resource).Name(asked.Name).Do(ctx).Into(found)
	}
	if err != nil {
		return nil, fmt.Errorf("request a certificate: %w", err)
	}
	for {
		if done, err := issued(found); done || err != nil {
			return found.Status.Certificate, err
		}
		if found, err = a.next(ctx, found); err != nil {
			return nil, fmt.Errorf("wait for certificate request %s: %w", asked.Name, err)
		}
	}
}

const resource = "certificatesigningrequests"

// next waits for a change of the request and returns it.
func (a *authority) next(
	ctx context.Context, seen *certificatesv1.CertificateSigningRequest,
) (*certificatesv1.CertificateSigningRequest, error) {
	options := metav1.ListOptions{
		Watch:         true,
		FieldSelector: fields.OneTermEqualSelector("metadata.name", seen.Name).String(), ResourceVersion: seen.ResourceVersion,
	}
	changes, err := a.client.Get().Resource(resource).VersionedParams(&options, a.codec).Watch(ctx)
	if err != nil {
		return nil, err
	}
	defer changes.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case e := <-changes.ResultChan():
		switch changed, ok := e.Object.(*certificatesv1.CertificateSigningRequest); {
		case e.Type == watch.Deleted:
			return nil, errors.New("the request was deleted")
		case ok:
			return changed, nil
		case e.Type == watch.Error:
			return nil, apierrors.FromObject(e.Object)
		}
	}
	// The watch has ended, as every watch does now and then.
	again := &certificatesv1.CertificateSigningRequest{}
	return again, a.client.Get().Resource(resource).Name(seen.Name).Do(ctx).Into(again)
}

// issued reports whether a certificate was issued. It fails if the request was refused.
func issued(r *certificatesv1.CertificateSigningRequest) (bool, error) {
	for _, c := range r.Status.Conditions {
		if c.Type == certificatesv1.CertificateDenied || c.Type == certificatesv1.CertificateFailed {
			return false, fmt.Errorf("%w: %s, %s: %s", errRefused, c.Type, c.Reason, c.Message)
		}
	}
	return len(r.Status.Certificate) > 0, nil
}
