"""Derivatives: backward, forward mode, the transforms on top of them, their check, and optimiser steps."""
