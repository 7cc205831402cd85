from penstock import *
