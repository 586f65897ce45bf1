//! approve
