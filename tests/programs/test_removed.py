"""What libraries have removed is there for programs: with the values that the old names had."""

from __future__ import annotations

import importlib
import operator
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock.programs.removed.standard import MODULES, of_whole_floats
from tests.programs.running import output_of, penstock_run

CASES = {
    "counts of NumPy that are floats": (
        "import numpy as np\nprint(np.linspace(0, 1, 5 / 2), np.logspace(0, 1, num=2.0), len(np.linspace(0, 1)))\n",
        "[0. 1.] [ 1. 10.] 50\n",
    ),
    "numpy": (
        "import numpy as np\n"
        "print(np.float('2'), np.int, np.zeros(1, np.object), np.product([2, 3]), np.in1d([1, 2], "
        "[2]), np.Inf, np.float_(1))\n"
        "print(np.asscalar(np.array([3])), set(np.random.random_integers(1, 2, 99).tolist()), "
        "np.alltrue([1]), np.rank([[1]]))\n"
        "print([np.float32(0.5)], np.arange(2, dtype=np.int8).tostring(), np.cast['f']([1]).dtype)\n",
        "2.0 <class 'int'> [0] 6 [False  True] inf 1.0\n3 {1, 2} True 2\n[0.5] b'\\x00\\x01' float32\n",
    ),
    "names of NumPy that few used": (
        "import numpy as np\nfrom numpy.compat import long\nfrom numpy.linalg.linalg import LinAlgError\n"
        "print(np.alen([[1, 2]]), np.sctypes['float'][1], np.obj2sctype(float), np.issctype(int))\n"
        "print(np.linalg.linalg.LinAlgError is LinAlgError, np.lib.arraysetops.unique([2, 2]))\n"
        "print(long, np.compat.asbytes('a'), np.safe_eval('[1]'))\n"
        "x = np.array([[1, 5], [2, 9]], '>i2')\n"
        "print(x.ptp(), x.ptp(axis=0), x.ptp(1), np.ptp(x), x.newbyteorder()[0, 0], np.loads(np.ones(1).dumps()))\n",
        "1 <class 'numpy.float32'> <class 'numpy.float64'> True\nTrue [2]\n<class 'int'> b'a' [1]\n"
        "8 [1 4] [4 7] 8 256 [1.]\n",
    ),
    "types of Python as kinds of types of NumPy": (
        "import numpy as np\n"
        "print([np.issubdtype(np.int32, np.int), np.issubdtype(np.float32, float), np.issubdtype('f4', 'float'),\n"
        "    np.issubdtype(np.uint8, int), np.issubdtype(np.int64, float), np.issubdtype(np.float32, np.float32)])\n",
        "[True, True, True, False, False, True]\n",
    ),
    "functions of NumPy that take lists of rows of different lengths": (
        "import numpy as np\n"
        "rows = [[1], [2, 3], [4]]\n"
        "print(np.shape(rows), [part.tolist() for part in np.array_split(rows, 2)], np.concatenate([rows] * 2).shape)\n"
        "np.random.seed(0)\nprint(sorted(np.random.permutation(rows).tolist()), np.random.choice(rows, 2).shape)\n"
        "print(np.append([1], rows[1]), np.delete(rows, 0).tolist(), np.random.permutation(3).shape)\n",
        "(3,) [[[1], [2, 3]], [[4]]] (6,)\n[[1], [2, 3], [4]] (2,)\n[1 2 3] [[2, 3], [4]] (3,)\n",
    ),
    "what functions of NumPy gave until 2.0": (
        "import numpy as np\n"
        "print(np.unique([[1, 2], [2, 1]], return_inverse=True), np.unique([3, 1], True, True)[2])\n"
        "print(np.linalg.solve(np.array([2 * np.eye(2)] * 3), np.ones((3, 2))).tolist())\n"
        "print(np.linalg.solve(np.eye(2), [1, 2]))\n",
        "(array([1, 2]), array([0, 1, 1, 0])) [1 0]\n[[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]\n[1. 2.]\n",
    ),
    "columns of frames that are changed in place": (
        "import numpy as np, pandas as pd\n"
        "df = pd.DataFrame({'age': [3.0, None, 2.0], 'sex': ['m', 'f', 'm'], 'n': [1, 2, 3]})\n"
        "df['age'].fillna(df['age'].mean(), inplace=True)\ndf['n'][df['sex'] == 'm'] = 0\n"
        "df.sex.replace('m', 'male', inplace=True)\ndf['age'].iloc[0] = 9\ndf.n[1] += 5\n"
        "df[df.n > 0]['n'] = 77\nrows = {'n': [1, 2]}\nrows['n'][0] = 4\n"
        "print(df.values.tolist(), rows)\n"
        "values = df[['n']].values\nvalues[0] = 8\nnp.random.shuffle(values)\nprint(sorted(values.ravel().tolist()))\n",
        "[[9.0, 'male', 0], [2.5, 'f', 7], [2.0, 'male', 0]] {'n': [4, 2]}\n[0, 7, 8]\n",
    ),
    "values of frames": (
        "import numpy as np, pandas as pd\n"
        "df = pd.DataFrame({'a': [3, 1, 2], 'c': list('xyx')})\n"
        "print(df.c.dtype == object, df.mean().tolist(), df.groupby('c').mean().values.tolist(), df.corr().shape)\n"
        "df.loc[df.a > 2, 'a'] = 0.5\nprint(df.a.tolist(), [row[0] for _, row in df.iterrows()], df.a[:, None].shape)\n"
        "print(pd.get_dummies(df.c).values.tolist(), pd.Series([1, 2], ['p', 'q'])[-1], df.a.reshape(-1, 1).shape)\n",
        "True [2.0] [[2.5], [1.0]] (1, 1)\n[0.5, 1.0, 2.0] [0.5, 1.0, 2.0] (3, 1)\n[[1, 0], [0, 1], [1, 0]] 2 (3, 1)\n",
    ),
    "arguments of pandas": (
        "import pandas as pd\n"
        "df = pd.DataFrame({'a': [3, None, 2.0], 'c': list('xyx')})\n"
        "print(df.drop('c', 1).shape, df.drop([0]).shape, df.fillna(method='ffill').a.tolist(), df.dropna(0).shape)\n"
        "print(pd.concat([df, df], axis=1, join_axes=[df.index]).shape)\n"
        "print(df.to_dict('record')[0], df.isnull().any(1).tolist())\n"
        "hours = pd.Series([1, 3], pd.date_range('2017-01-01', periods=2, freq='H'))\n"
        "print(hours.resample('D', how='mean').tolist(), len(pd.date_range('2017-01-01', periods=2, freq='2M')))\n"
        "pd.set_option('display.max_colwidth', -1)\nprint(df.set_index('c', True).shape, df.a.fillna(0).tolist())\n",
        "(3, 1) (2, 2) [3.0, 3.0, 2.0] (2, 2)\n(3, 4)\n{'a': 3.0, 'c': 'x'} [False, True, False]\n[2.0] 2\n"
        "(3, 1) [3.0, 0.0, 2.0]\n",
    ),
    "artists and arguments of matplotlib": (
        "import matplotlib\nmatplotlib.use('Agg', warn=False)\nimport matplotlib.pyplot as plt, numpy as np\n"
        "fig, ax = plt.subplots(figsize=(2, 1), dpi=50)\n"
        "line, other = ax.plot([1, 2])[0], ax.plot([3, 4])[0]\nax.lines.remove(line)\n"
        "print(len(ax.lines), ax.lines.pop() is other, len(ax.lines))\n"
        "print(plt.annotate(s='here', xy=(0, 0)).get_text(), plt.legend(['a'], 1)._loc, "
        "plt.imshow(np.eye(2).astype(object), cmap='spectral').get_cmap().name)\n"
        "tick = ax.xaxis.get_major_ticks()[0]\ntick.label.set_fontsize(5)\ntick.label1On = False\n"
        "print(tick.label1.get_fontsize(), tick.label1.get_visible(), len(plt.contour(np.eye(3)).collections))\n"
        "fig.canvas.draw()\nprint(np.frombuffer(fig.canvas.tostring_rgb(), np.uint8).reshape(50, 100, 3).shape)\n"
        "print(plt.subplot(4 / 2, 2, 1) is not None, ax.set_xlim(xmin=0, xmax=3))\n"
        "plt.close('all')\nfig.canvas.draw()\nprint(len(fig.canvas.tostring_rgb()))\n",
        "1 True 0\nhere 1 spectral\n5.0 False 1\n(50, 100, 3)\nTrue (0.0, 3.0)\n15000\n",
    ),
    "arguments and names of scikit-learn": (
        "import numpy as np\nfrom sklearn.model_selection import KFold, GridSearchCV\n"
        "from sklearn.linear_model import SGDClassifier, LogisticRegression\nfrom sklearn.svm import SVC\n"
        "from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.lda import LDA\n"
        "from sklearn.metrics import jaccard_similarity_score, confusion_matrix\n"
        "from sklearn.feature_extraction.text import CountVectorizer\n"
        "X, y = np.random.RandomState(0).rand(20, 3), np.arange(20) % 2\n"
        "print([len(test) for _, test in KFold(5, True, 1).split(X)], KFold(2, random_state=1).n_splits)\n"
        "print(GridSearchCV(SVC(1.0, 'linear'), {'C': [1]}, iid=False, cv=2).fit(X, y).best_params_)\n"
        "print(SGDClassifier(n_iter=7, loss='log').fit(X, y).n_iter_)\n"
        "print(RandomForestClassifier(5, max_features='auto').fit(X, y).max_features, LDA().fit(X, y).coef_.shape)\n"
        "print(LogisticRegression('l2', multi_class='ovr').fit(X, y).get_params()['penalty'])\n"
        "print(jaccard_similarity_score([0, 1], [1, 1]), confusion_matrix([0, 1], [0, 1], [1, 0]).tolist())\n"
        "words = CountVectorizer()\nwords.fit(['a bc', 'de'])\nprint(words.get_feature_names())\n",
        "[4, 4, 4, 4, 4] 2\n{'C': 1}\n7\nsqrt (1, 3)\nl2\n0.5 [[1, 0], [0, 1]]\n['bc', 'de']\n",
    ),
    "weights of classes by position": (
        "import numpy as np\nfrom sklearn.utils.class_weight import compute_class_weight, compute_sample_weight\n"
        "from sklearn.utils import class_weight, shuffle, resample\ny = np.array([0, 0, 0, 1])\n"
        "print(compute_class_weight('balanced', np.unique(y), y), class_weight.compute_class_weight(None, [0, 1], y))\n"
        "print(compute_sample_weight('balanced', y)[2:], shuffle([1, 2], random_state=0), len(resample(y)))\n",
        "[0.66666667 2.        ] [1. 1.]\n[0.66666667 2.        ] [2, 1] 4\n",
    ),
    "what SciPy gave": (
        "import numpy as np\nfrom scipy import stats, signal\nimport scipy.sparse as sp\n"
        "print(stats.mode([1, 1, 2])[0][0], stats.mode([[1, 2], [1, 3]])[0].shape, stats.itemfreq([3, 3]).tolist())\n"
        "m = sp.csr_matrix(np.eye(2))\nprint(m.A.tolist(), m.H.A.shape, sp.coo_matrix(m).A[0], signal.triang(3))\n",
        "1 (1, 2) [[3, 2]]\n[[1.0, 0.0], [0.0, 1.0]] (2, 2) [1. 0.] [0.5 1.  0.5]\n",
    ),
    "splitting where a pattern matches nothing": (
        "import re\n"
        "print(re.split(r'(\\W+)?', 'Is it so?'), re.split(r'(\\W+)?', 'a b c', 1), re.split(' *', '  a  b'))\n"
        "print(re.split('(?=[A-Z])', 'aBc'), re.split(', ', 'a, b'), re.split('x*', 'axbc', flags=re.I))\n",
        "['Is', ' ', 'it', ' ', 'so', '?', ''] ['a', ' ', 'b c'] ['', 'a', 'b']\n['a', 'Bc'] ['a', 'b'] ['a', 'bc']\n",
    ),
    "arguments of NumPy": (
        "import numpy as np\n"
        "print(np.reshape([1, 2], newshape=[2, 1]).shape, np.histogram([0, 1], bins=2, normed=True)[0])\n"
        "print(np.percentile([1, 2, 4], 60, interpolation='nearest'),"
        " np.corrcoef([1, 2], [2, 4], bias=1)[0, 1].round(3))\n"
        "print(np.fromstring(b'\\x01\\xff', np.uint8), np.fromstring('1 2', sep=' '), np.array([1], 'f', copy=False))\n"
        "print(np.vstack(row for row in [[1], [2]]).shape, np.sum(np.ones(2) for _ in range(3)), "
        "np.sum([[1], [2]], 0))\n"
        "a = np.fromstring(b'ab', dtype=np.uint8)\na += 1\nprint(a, np.array(a, copy=False) is a)\n",
        "(2, 1) [1. 1.]\n2 1.0\n[  1 255] [1. 2.] [1.]\n(2, 1) [3. 3.] [3]\n[98 99] True\n",
    ),
    "kinds of numbers": (
        "import numpy as np\n"
        "print([np.issubdtype(np.float32, a) for a in (np.float, float, 'float', np.int, np.float64, bool)])\n"
        "print([np.issubdtype(np.int32, a) for a in (int, 'int', float)], np.issubdtype(np.uint8, int), "
        "np.issubdtype(np.complex64, complex), np.issubdtype(np.int64, np.integer))\n",
        "[True, True, True, False, False, False]\n[True, True, False] False True True\n",
    ),
    "numpy.lib": (
        "import numpy as np\nfrom numpy.lib.index_tricks import r_\n"
        "print(np.lib.pad([1], (1, 0), 'constant'), np.lib.in1d([1, 2], [2]), np.lib.DataSource.__name__, r_[1:3])\n"
        "print(np.lib.stride_tricks.as_strided(np.arange(3), (2,), (8,)), hasattr(np.lib, 'nothing'))\n",
        "[0 1] [False  True] DataSource [1 2]\n[0 1] False\n",
    ),
    "shapes of Keras": (
        "import keras, keras.backend as K, tensorflow as tf\n"
        "x = keras.layers.Input((4, 5))\ny = keras.layers.Dense(3)(x)\n"
        "print(x._keras_shape, y._keras_shape, y._uses_learning_phase, K.zeros((2, 3))._keras_shape)\n"
        "z = K.reshape(y, (-1, 6, 2))\nz._keras_shape = (None, 6, 2)\nprint(z._keras_shape)\n"
        "print(hasattr(tf.placeholder(tf.float32), '_keras_shape'))\n",
        "(None, 4, 5) (None, 4, 3) False (2, 3)\n(None, 6, 2)\nFalse\n",
    ),
    "keras": (
        "import keras, keras.backend as K, numpy as np\nimport tensorflow as tf\n"
        "from keras.layers.advanced_activations import LeakyReLU\n"
        "from keras.layers.convolutional import MaxPooling2D\n"
        "from keras.layers.core import Dense\nfrom keras.preprocessing.sequence import pad_sequences\n"
        "from keras.utils.np_utils import to_categorical\n"
        "print(Dense is keras.layers.Dense is tf.keras.layers.Dense)\n"
        "print(keras.engine.topology.Layer is keras.layers.Layer)\n"
        "model = keras.models.Sequential([Dense(2, input_dim=2, kernel_initializer='identity'), LeakyReLU(0.5)])\n"
        "print(model.predict(np.array([[-1.0, 2.0]])), K.eval(K.sum(K.ones([3]))))\n"
        "print(pad_sequences([[1], [2, 3]]).shape)\n"
        "print(to_categorical([1], 2))\n",
        "True\nTrue\n[[-0.5  2. ]] 3.0\n(2, 2)\n[[0. 1.]]\n",
    ),
    "arguments of Keras 1": (
        "import numpy as np\nfrom keras.layers import Convolution2D, Dense, Flatten, Input, LSTM, MaxPooling2D\n"
        "from keras.models import Model\n"
        "i = Input(shape=(8, 8, 3))\n"
        "x = Convolution2D(4, 3, 5, border_mode='same', subsample=(2, 2), dim_ordering='tf', init='he_normal')(i)\n"
        "x = Convolution2D(nb_filter=2, nb_row=2, nb_col=1)(x)\nx = MaxPooling2D((2, 2), border_mode='same')(x)\n"
        "model = Model(input=i, output=Dense(output_dim=2, bias=False)(Flatten()(x)))\n"
        "print([w.shape for w in model.get_weights()], LSTM(output_dim=3, inner_init='zero').units)\n"
        "model.compile('sgd', 'mse')\n"
        "batches = iter([(np.ones((4, 8, 8, 3)), np.ones((4, 2)))] * 9)\n"
        "print(len(model.fit_generator(batches, samples_per_epoch=3, nb_epoch=2, verbose=0).history['loss']))\n",
        "[(3, 5, 3, 4), (4,), (2, 1, 4, 2), (2,), (8, 2)] 3\n2\n",
    ),
    "models of Keras 1 as text, with the names of now": (
        "from keras.layers import Convolution2D, Dense, Dropout\nfrom keras.models import Sequential, model_from_json\n"
        "first = Convolution2D(4, 3, 5, border_mode='same', subsample=(2, 2), bias=False, input_shape=(8, 8, 1))\n"
        "model = Sequential([first, Dropout(p=0.3), Dense(output_dim=2, init='uniform', W_regularizer='l2')])\n"
        "again = model_from_json(model.to_json())\n"
        "print(again.output_shape, [w.shape for w in again.get_weights()], again.layers[1].rate, len(again.losses))\n"
        "told = first.get_config()\n"
        "print(told['kernel_size'], told['strides'], told['padding'], told['use_bias'], 'border_mode' in told)\n"
        "class Scaled(Dense):\n"
        "    def __init__(self, units, scale=1.0, **kwargs):\n"
        "        self.scale = scale\n        super().__init__(units, **kwargs)\n"
        "told = Scaled(3, 2.0, bias=False, name='a').get_config()\n"
        "print(told['use_bias'], 'bias' in told, Scaled.from_config(told).use_bias)\n",
        "(None, 4, 4, 2) [(3, 5, 1, 4), (4, 2), (2,)] 0.3 1\n(3, 5) (2, 2) same False False\nFalse False False\n",
    ),
    "names of Keras as a package of its own": (
        "import numpy as np, keras\nfrom keras import objectives, backend as K\n"
        "from keras.applications.mobilenet import relu6\nfrom keras.applications.vgg16 import _obtain_input_shape\n"
        "from keras.backend.common import _EPSILON\nfrom keras.layers import Dense, Input, Merge, merge\n"
        "from keras.layers.merge import Concatenate\nfrom keras.legacy import interfaces\n"
        "from keras.models import Input as I, Sequential\nfrom keras.optimizers import adam\n"
        "K.set_image_dim_ordering('th')\n"
        "print(K.image_data_format(), K.image_dim_ordering(), objectives.mse is keras.losses.mse, adam is "
        "keras.optimizers.Adam)\n"
        "print(_obtain_input_shape(None, 224, 48, 'channels_last', include_top=False), "
        "interfaces.legacy_get_updates_support(len) is len, K.eval(relu6(K.tf.constant([7.0]))))\n"
        "a, b = Input((2,)), Input((2,))\n"
        "for made in (merge([a, b], mode='concat'), merge([a, b], 'dot', dot_axes=1), Merge(mode=lambda x: x[0] - "
        "x[1])([a, b])):\n"
        "    print(keras.models.Model([a, b], made).predict([np.ones((1, 2)), np.full((1, 2), 3.0)]).tolist())\n"
        "model = Sequential([Merge([Sequential([Dense(2, input_dim=3)]), Sequential([Dense(2, input_dim=4)])], "
        "'concat'), Dense(1)])\n"
        "print(model.predict([np.ones((5, 3)), np.ones((5, 4))]).shape, len(model.get_weights()), "
        "len(model.layers[0].layers))\n",
        "channels_first th True True\n(None, None, 3) True [6.]\n[[1.0, 1.0, 3.0, 3.0]]\n[[6.0]]\n[[-2.0, -2.0]]\n"
        "(5, 1) 6 2\n",
    ),
    "the packages that TensorFlow 1.15 is in": (
        "import tensorflow as tf\nfrom tensorflow_core.python.keras import Sequential\n"
        "from tensorflow_core.python.training.adam import AdamOptimizer\n"
        "from tensorflow_estimator.python.estimator.run_config import RunConfig\n"
        "print(Sequential is tf.keras.Sequential, AdamOptimizer is tf.train.AdamOptimizer, "
        "RunConfig is tf.estimator.RunConfig)\n",
        "True True True\n",
    ),
    "numbers of NumPy in json": (
        "import json, numpy as np\nprint(json.dumps([np.float32(0.5), np.int64(3)]))\n"
        "try: json.dumps(np.ones(2))\nexcept TypeError as error: print(error)\n",
        "[0.5, 3]\nObject of type ndarray is not JSON serializable\n",
    ),
    "values of HDF5": (
        "import h5py, numpy as np\n"
        "with h5py.File('a.h5', 'w') as file:\n    file['x'] = np.arange(3)\n    file['y'] = 2.5\n"
        "file = h5py.File('a.h5', 'r')\nprint(file['x'].value, file['y'].value)\n",
        "[0 1 2] 2.5\n",
    ),
    "rows of different lengths": (
        "import numpy as np\n"
        "print(np.array([[1, 2], [3]]).dtype, np.asarray([[1], [2, 3]], order='C').shape, np.array([[1, 2]]).dtype)\n"
        "print(np.array(list(zip([np.zeros(3)] * 2, [np.zeros(2)] * 2))).shape)\n"
        "np.savez('rows.npz', [1, 2], rows=[[1, 2], [3]])\n"
        "print(list(np.load('rows.npz', allow_pickle=True)['rows']))\n",
        "object (2,) int64\n(2, 2)\n[[1, 2], [3]]\n",
    ),
    "arrays of a dtype of numbers and arrays of one element": (
        "import numpy as np\nprint(np.array([1.0, np.array([[2.0]])], dtype=np.float32))\n"
        "print(np.asarray([np.array([1]), 2], np.int64), np.array([np.array([1.0]), 2.0], dtype=None).shape)\n"
        "try:\n    np.array([1.0, np.zeros(2)], np.float32)\nexcept ValueError:\n    print('refused')\n",
        "[1. 2.]\n[1 2] (2,)\nrefused\n",
    ),
    "functions of rows of different lengths": (
        "import numpy as np\n"
        "y = np.reshape([1.0, np.array([2.0])] * 2, (4, 1))\n"
        "print(y.dtype, y.tolist(), np.mean([1.0, np.array([2.0])]), np.shape([[1], [2, 3]]))\n"
        "print(sorted(np.random.permutation([[1], [2, 3]])), np.concatenate([[[1], [2, 3]], [[4], [5, 6]]]).shape)\n"
        "try: np.reshape([1, 2], (3, 1))\nexcept ValueError as error: print(error)\n",
        "object [[1.0], [array([2.])], [1.0], [array([2.])]] [1.5] (2,)\n[[1], [2, 3]] (4,)\n"
        "cannot reshape array of size 2 into shape (3,1)\n",
    ),
    "statistics and shapes of numbers and arrays of one element": (
        "import numpy as np\n"
        "rewards = [np.array([1.0]), 2.0, 3.5]\n"
        "print(np.resize(rewards, [3, 1]).tolist(), np.std(rewards), np.var(rewards), np.average(rewards))\n"
        "print(np.median(rewards), np.argmax(rewards), np.amin(rewards), np.percentile(rewards, 50))\n"
        "print(np.where([[1], [2, 3]]), np.atleast_2d([[1], [2, 3]]).shape, np.flip([[1], [2, 3]]).tolist())\n",
        "[[array([1.])], [2.0], [3.5]] [1.02740233] [1.05555556] [2.16666667]\n2.0 2 [1.] 2.0\n"
        "(array([0, 1]),) (1, 2) [[2, 3], [1]]\n",
    ),
    "modules of Pillow that something else had imported": (
        "import PIL\nprint(PIL.Image.new('RGB', (2, 3)).size, PIL.ImageEnhance.Color.__name__)\n",
        "(2, 3) Color\n",
    ),
    "messages of TensorBoard's summaries": (
        "from tensorboard import summary\nfrom tensorboard.plugins.custom_scalar import layout_pb2\n"
        "charts = [layout_pb2.Chart(title='y', multiline=layout_pb2.MultilineChartContent(tag=['z']))]\n"
        "layout = layout_pb2.Layout(category=[layout_pb2.Category(title='x', chart=charts)])\n"
        "value, = summary.custom_scalar_pb(layout).value\nprint(value.metadata.plugin_data.plugin_name)\n"
        "print(summary.scalar_pb('loss', 2.0).value[0].tag)\n",
        "custom_scalars\nloss/scalar_summary\n",
    ),
    "kinds of types as dtypes": (
        "import numpy as np\n"
        "print(np.zeros(2, dtype=np.integer).dtype, np.empty(2, np.floating).dtype, np.full(1, 1.5, np.integer))\n"
        "print(np.ones_like([1.5], dtype=np.signedinteger), np.issubdtype(np.int32, np.integer))\n"
        "try: np.zeros(2, dtype=np.generic())\nexcept TypeError: print('refused')\n",
        "int64 float64 [1]\n[1] True\nrefused\n",
    ),
    "arrays of tensors": (
        "import numpy as np, tensorflow as tf\n"
        "a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])\n"
        "print(np.shape([a, b]), np.array([[a, b], [b, a]]).shape, np.asarray((None, a)).dtype, np.ndim([a, b]))\n"
        "print(np.array([[a, b], [a]]).tolist() == [[a, b], [a]], np.reshape([a, b, a, b], (2, 2))[1, 0] is a)\n"
        "print(np.concatenate([[a], [b]]).tolist() == [a, b], np.array([a, b], dtype=object)[1] is b)\n"
        "with tf.Session() as session:\n"
        "    print(session.run([np.sum([a, b]), np.prod([a, b]), np.cumsum([a, b])[1]]))\n"
        "for make in (np.asarray, np.exp, lambda t: np.stack([t]), lambda t: np.array([t], np.float32)):\n"
        "    try:\n        print(make(a))\n    except NotImplementedError:\n        print('refused')\n",
        "(2,) (2, 2) object 1\nTrue True\nTrue True\n"
        "[array([4., 6.], dtype=float32), array([3., 8.], dtype=float32), array([4., 6.], dtype=float32)]\n"
        + "refused\n"
        * 4,
    ),
    "lines through points at one place": (
        "import numpy as np\nfrom scipy import interpolate\n"
        "x = np.array([0, 0, 0, 0.1, 0.2, 0.2, 0.5, 1, 1])\n"
        "line = interpolate.interp1d(x, np.arange(9.0), kind='slinear')\n"
        "print(line(1e-3), line([0, 0.2, 0.3]).round(4))\n",
        "2.01 [2.     5.     5.3333]\n",
    ),
    "arrays printed whole": (
        "import numpy as np\nfor whole in (np.nan, 'nan'):\n"
        "    np.set_printoptions(threshold=3)\n    print('...' in str(np.arange(9)))\n"
        "    np.set_printoptions(threshold=whole)\n    print('...' in str(np.arange(5000)))\n"
        "np.set_printoptions(2, 3)\nprint(np.arange(9) / 3)\n",
        "True\nFalse\nTrue\nFalse\n[0.   0.33 0.67 ... 2.   2.33 2.67]\n",
    ),
    "digests of text": (
        "import hashlib\nfrom hashlib import sha1\n"
        "print(hashlib.md5('a').hexdigest(), sha1('a' * 3).hexdigest()[:8], hashlib.sha256(b'a').hexdigest()[:8])\n",
        "0cc175b9c0f1b6a831c399e269772661 7e240de7 ca978112\n",
    ),
    "curves and surfaces through points": (
        "import numpy as np\nfrom scipy.interpolate import spline, interp2d\n"
        "xs, ys = [0, 1, 2.5, 3, 5], [1.0, 2, 0, 3, 1]\n"
        "print(spline(xs, ys, [0, 0.5, 1.7, 4, 6]).round(4), spline(xs, ys, [0.5, 4], order=2).round(4))\n"
        "print(spline(np.arange(9), np.arange(9) ** 2, 2.5).round(4), spline(xs, ys, [1.7, 5], order=0))\n"
        "height = interp2d([0, 2, 1, 3], [0, 1, 3.0], np.arange(12.0).reshape(3, 4) ** 1.5)\n"
        "print(height([4, 0.5], [0.5, 2]).round(4).tolist(), height(1.2, 0.3).round(4))\n"
        "wave = interp2d(range(4), range(5), np.sin(np.arange(20.0)), kind='cubic', fill_value=-1)\n"
        "print(wave([0.5, 7], 0.1).round(4))\n",
        "[ 1.      2.7074 -0.0675 10.2236  0.    ] [3.4745 6.3844]\n6.25 [2. 3.]\n"
        "[[6.3813, 11.8582], [19.2368, 27.5016]] [5.922]\n[-0.6025 -1.    ]\n",
    ),
    "graphs as lists, until NetworkX 2.0": (
        "import networkx as nx, json\nfrom networkx.readwrite import json_graph\n"
        "print(nx.__version__)\nG = nx.Graph()\nG.add_path(range(4))\nG.add_edge(0, 3)\nG.node[2]['x'] = 1\n"
        "print(G.nodes()[0], G.edges(), G.neighbors(0)[-1], G.degree().values(), sorted(G.nodes_iter(data=True))[2])\n"
        "for n in G.nodes():\n    if n == 3: G.remove_node(n)\n"
        "print(len(G), 1 in G.nodes(), [len(g) for g in nx.connected_component_subgraphs(G)])\n"
        "A = nx.adjacency_matrix(G)\nprint((A * A).todense().tolist())\n"
        "print((nx.to_numpy_matrix(G) * [[1], [2], [3]]).tolist(), nx.convert_matrix.to_numpy_matrix(G).shape)\n"
        "data = {'directed': False, 'multigraph': False, 'graph': [], 'nodes': [{'id': 'a'}, {'id': 'b'}],"
        " 'links': [{'source': 0, 'target': 1, 'w': 2}]}\n"
        "print(json_graph.node_link_graph(data).edges(data=True))\n",
        "1.11\n0 [(0, 1), (0, 3), (1, 2), (2, 3)] 3 dict_values([2, 2, 2, 2]) (2, {'x': 1})\n3 True [3]\n"
        "[[1, 0, 1], [0, 2, 0], [1, 0, 1]]\n[[2.0], [4.0], [2.0]] (3, 3)\n[('a', 'b', {'w': 2})]\n",
    ),
    "graphs as views, since NetworkX 2.0": (
        "import networkx as nx\nG = nx.path_graph(3)\nG.nodes[1]['x'] = 1\n"
        "print(G.nodes()[1]['x'], dict(G.degree()), sorted(G.degree), (1, 0) in G.edges())\n"
        "print(nx.__version__ > '2', nx.adjacency_matrix(G).dot([1, 1, 1]))\n",
        "1 {0: 1, 1: 2, 2: 1} [(0, 1), (1, 2), (2, 1)] True\nTrue [1 2 1]\n",
    ),
    "packages whose modules are in several folders": (
        "import os, sys\nos.makedirs('own/svg')\n"
        "open('own/svg/__init__.py', 'w').write(\"__import__('pkg_resources').declare_namespace(__name__)\")\n"
        "os.makedirs('more/svg')\nopen('more/svg/path.py', 'w').write('x = 1')\n"
        "sys.path += ['own', 'more']\nfrom svg.path import x\nprint(x)\n",
        "1\n",
    ),
    "arrays of objects that are data": (
        "import numpy as np, pickle\n"
        "weights = {'conv1': [np.arange(3, dtype='>i4'), np.float64(0.5)], b'x': ({1}, 'y', None)}\n"
        "np.save('w.npy', weights)\nnp.savez('w.npz', w=weights, v=np.ones(2))\n"
        "pickle.dump(np.asfortranarray([[1, 2], [3, 4]]), open('w.pkl', 'wb'), 2)\n"
        "print(np.load('w.npy', encoding='latin1').item()[b'x'])\n"
        "with open('w.npy', 'rb') as file: a = np.load(file)[()]['conv1'][0]\nprint(a, a.dtype.str)\n"
        "found = np.load('w.npz')\nprint(found['w'][()]['conv1'][1], found['v'], np.load('w.pkl'))\n",
        "({1}, 'y', None)\n[0 1 2] <i4\n0.5 [1. 1.] [[1 2]\n [3 4]]\n",
    ),
    "scipy's modules": (
        "from scipy.sparse.linalg.eigen.arpack import eigsh\nimport numpy as np\n"
        "print(eigsh(np.diag([1.0, 2.0, 5.0]), 1, which='LM')[0].round(3))\n",
        "[5.]\n",
    ),
    "the standard library": (
        "import collections, inspect, itertools, os, string, sys, time, urllib\n"
        "from collections import Mapping, OrderedDict\nfrom itertools import izip\n"
        "print(isinstance({}, Mapping), list(izip([1], 'a')), inspect.getargspec(lambda a, *b, c=1: 0).args)\n"
        "print(string.letters[-1], 'ab'.translate(string.maketrans('a', 'c')), string.join(['x', 'y'], '-'))\n"
        "print(time.clock() >= 0, sys.maxint > 2**31, os.getcwdu() == os.getcwd(), urllib.quote('a b'))\n"
        "sys.setdefaultencoding('utf-8')\n",
        "True [(1, 'a')] ['a']\nZ cb x-y\nTrue True True a%20b\n",
    ),
    "random, csv, threading, yaml": (
        "import csv, random, threading, yaml\nopen('a.csv', 'w').write('a,b\\n1,2\\n')\n"
        "print(list(csv.reader(open('a.csv', 'rb'))), [dict(r) for r in csv.DictReader(open('a.csv', 'rb'))])\n"
        "print(sorted(random.sample({1, 2}, 2)), threading.Thread().isAlive(), yaml.load('a: 1'))\n",
        "[['a', 'b'], ['1', '2']] [{'a': '1', 'b': '2'}]\n[1, 2] False {'a': 1}\n",
    ),
    "json with an encoding, ranges of floats": (
        "import json, random\n"
        "print(json.loads('[1]', encoding='utf-8'), json.loads('2', 'utf-8'), json.dumps([3], encoding='utf-8'))\n"
        "json.dump({'a': 4}, open('a.json', 'w'), indent=0)\n"
        "print(json.load(open('a.json', 'rb'), encoding='utf-8'), json.load(fp=open('a.json')))\n"
        "random.seed(0)\nprint(random.randint(0, 6 / 2), random.randrange(1e1), random.Random(0).randint(0, 3.0))\n",
        "[1] 2 [3]\n{'a': 4} {'a': 4}\n3 6 3\n",
    ),
    "seeds of random": (
        "import datetime, random\nimport numpy as np\nrandom.seed(np.int64(-7))\nprint(random.random())\n"
        "print(random.Random(np.uint8(200)).random())\n"
        "random.seed(datetime.datetime.now())\nprint(0 < random.random() < 1)\n",
        "0.027923773125139384\n0.04560930208539393\nTrue\n",
    ),
    "yaml's own constructors": (
        "import yaml\nclass Layer(yaml.YAMLObject):\n    yaml_tag = '!Layer'\n"
        "yaml.add_constructor('!sum', lambda loader, node: sum(loader.construct_sequence(node)))\n"
        "print(yaml.load('a: !sum [1, 2]'), yaml.load('!Layer {units: 3}').units)\n"
        "print(yaml.load('!!python/tuple [1, 2]'), list(yaml.load_all('1\\n---\\n2')))\n",
        "{'a': 3} 3\n(1, 2) [1, 2]\n",
    ),
    "scipy's images": (
        "import numpy as np, scipy.misc\nfrom scipy.misc import imread, imsave, imresize\n"
        "imsave('a.png', np.arange(12.0).reshape(3, 4))\na = imread('a.png')\nprint(a.shape, "
        "a.dtype, a.min(), a.max())\n"
        "print(imresize(np.zeros([4, 4, 3]), (2, 3)).shape, imresize(a, 50).shape, imresize(a, 2.0, "
        "'nearest')[-1, -1])\n"
        "print(scipy.misc.toimage(np.eye(2)).mode, scipy.misc.bytescale(np.array([1.0, 3.0])), "
        "imread('a.png', flatten=True).dtype)\n",
        "(3, 4) uint8 0 255\n(2, 3, 3) (1, 2) 255\nL [  0 255] float32\n",
    ),
    "scipy.misc where another module of scipy was imported": (
        "import numpy as np, scipy.io\n"
        "print(scipy.misc.toimage(np.eye(2) * 255, high=255, low=0, cmin=0, cmax=255).size)\n"
        "print(scipy.misc.imresize(np.zeros([4, 4]), (2, 3)).shape)\n",
        "(2, 2)\n(2, 3)\n",
    ),
    "Pillow": (
        "from PIL import Image, ImageDraw, ImageFont\nimage = Image.new('L', (8, 8)).resize((4, 4), Image.ANTIALIAS)\n"
        "print(image.size, Image.ANTIALIAS == Image.LANCZOS)\nfont = ImageFont.load_default()\n"
        "width, height = ImageDraw.Draw(image).textsize('ab', font)\n"
        "print((width, height) == font.getsize('ab'), width > 8)\n",
        "(4, 4) True\nTrue True\n",
    ),
    "OpenCV's constants": (
        "import cv2\nimport cv2.cv as cv\nfrom cv2.cv import CV_BGR2GRAY\n"
        "print(cv2.cv.CV_FOURCC('m', 'p', '4', 'v') == cv.FOURCC(*'mp4v') == cv2.VideoWriter_fourcc(*'mp4v'))\n"
        "print(cv2.CV_LOAD_IMAGE_GRAYSCALE == cv2.IMREAD_GRAYSCALE, CV_BGR2GRAY == cv2.COLOR_BGR2GRAY, "
        "cv.CV_CAP_PROP_FPS)\n",
        "True\nTrue True 5\n",
    ),
    "densities of matplotlib": (
        "from matplotlib import mlab\n"
        "print('%.6f' % mlab.bivariate_normal(1.0, 0.5, 2.0, 1.0, sigmaxy=0.5), mlab.normpdf(0, 0, 1).round(6))\n",
        "0.067289 0.398942\n",
    ),
    "settings of matplotlib": (
        "import matplotlib as mpl, matplotlib.pyplot as plt\n"
        "mpl.rcParams.update({'pgf.preamble': ['a', 'b'], 'text.latex.unicode': True, 'font.size': 8})\n"
        "plt.rcParams['axes.color_cycle'] = ['r', 'g']\n"
        "print(repr(mpl.rcParams['pgf.preamble']), plt.rcParams['font.size'], plt.rcParams['axes.prop_cycle'])\n",
        "'a\\nb' 8.0 cycler('color', ['r', 'g'])\n",
    ),
    "dates in tables of pandas": (
        "import io, pandas as pd\nread = lambda text, **how: pd.read_csv(io.StringIO(text), **how)\n"
        "day = lambda text: pd.datetime.strptime(text, '%d/%m/%Y %H:%M')\n"
        "a = read('d,t,a\\n01/02/2015,10:30,7\\n', parse_dates={'at': ['d', 't']}, index_col='at', date_parser=day)\n"
        "print(a.index[0], a.values.tolist())\n"
        "print(read('m,b\\n1-01,5\\n1-02,6\\n', parse_dates=[0], index_col=0, squeeze=True, "
        "date_parser=lambda text: pd.datetime.strptime('190' + text, '%Y-%m'))['1901-02'].tolist())\n"
        "b = read('2017 03  5\\n', header=None, delim_whitespace=True, parse_dates=[[0, 1]], "
        "date_parser=lambda year, month: pd.datetime(int(year), int(month), 1))\nprint(b.to_dict('list'))\n"
        "print(read('d,t,a\\n2015-02-01,10:30,7\\n', parse_dates=[['d', 't']])['d_t'][0])\n"
        "print(read('20170102,6\\n', header=None, parse_dates=True, index_col=0, "
        "date_parser=lambda x: pd.to_datetime(x, format='%Y%m%d')).index[0])\n",
        "2015-02-01 10:30:00 [[7]]\n[6]\n{'0_1': [Timestamp('2017-03-01 00:00:00')], 2: [5]}\n2015-02-01 10:30:00\n"
        "2017-01-02 00:00:00\n",
    ),
    "scipy's functions": (
        "import scipy, scipy.misc\nimport scipy.signal\n"
        "print('%.4f' % scipy.misc.logsumexp([0.0, 0.0]), scipy.misc.comb(4, 2), scipy.zeros(2), "
        "scipy.signal.hann(3))\n",
        "0.6931 6.0 [0. 0.] [0. 1. 0.]\n",
    ),
    "scikit-learn": (
        "from sklearn.cross_validation import KFold, train_test_split\nfrom sklearn.externals import joblib\n"
        "from sklearn.grid_search import GridSearchCV\nfrom sklearn.preprocessing import Imputer, OneHotEncoder\n"
        "print([test.tolist() for train, test in KFold(4, n_folds=2)], hasattr(joblib, 'dump'))\n"
        "print(Imputer().fit_transform([[1.0], [float('nan')], [3.0]]).ravel(), "
        "OneHotEncoder(sparse=False).fit_transform([[1]]))\n",
        "[[0, 1], [2, 3]] True\n[1. 2. 3.] [[1.]]\n",
    ),
    "scikit-learn's inner modules": (
        "from sklearn.metrics.classification import accuracy_score\nfrom sklearn.cluster.k_means_ import KMeans\n"
        "from sklearn.preprocessing.data import MinMaxScaler\nfrom sklearn.preprocessing.imputation import Imputer\n"
        "from sklearn.manifold.t_sne import TSNE\nfrom sklearn.svm.classes import SVC\n"
        "print(accuracy_score([1, 0], [1, 1]), MinMaxScaler().fit_transform([[1], [3]]).ravel(), KMeans.__name__)\n",
        "0.5 [0. 1.] KMeans\n",
    ),
    "data sets of mldata.org in files": (
        "import os, numpy as np\nfrom scipy.io import savemat\nfrom sklearn.datasets import fetch_mldata\n"
        "names = np.array([['label', 'data']], object)\nos.mkdir('mldata')\n"
        "columns = {'label': [[0.0, 1.0]], 'data': [[1, 2], [3, 4], [5, 6]], 'mldata_descr_ordering': names}\n"
        "savemat('mldata/some-data.mat', columns)\n"
        "found = fetch_mldata('Some (data)', data_home='.')\nprint(found.data.tolist(), found.target)\n"
        "print(fetch_mldata('some data', 'data', 0, data_home='.').keys())\n",
        "[[1, 3, 5], [2, 4, 6]] [0. 1.]\ndict_keys(['DESCR', 'COL_NAMES', 'data', 'target'])\n",
    ),
    "estimators of scikit-learn that do not keep a parameter": (
        "from sklearn.base import BaseEstimator\n"
        "class Inner(BaseEstimator):\n    def __init__(self, n=3):\n        self.n = n\n"
        "class Net(BaseEstimator):\n    def __init__(self, model=None, rate=0.1):\n        self.model = model\n"
        "print(Net(Inner()).get_params(), Net(), Inner().get_params())\n",
        "{'model': Inner(), 'rate': None, 'model__n': 3} Net(rate=None) {'n': 3}\n",
    ),
    "pandas": (
        "import pandas as pd\ndf = pd.DataFrame({'a': [2, 1], 'b': [3, 4]}, index=['x', 'y'])\n"
        "print(df.ix[0, 'a'], df.ix['y'].tolist(), df.ix[:, 0].tolist(), df.ix[df.a > 1, "
        "'b'].tolist(), df.as_matrix().tolist())\n"
        "print(df.append(df).shape, df.append({'a': 5, 'b': 6}, ignore_index=True).a.tolist(), "
        "df.sort('a').a.tolist())\n"
        "print([k for k, _ in df.iteritems()], pd.rolling_mean(df.b, 2).tolist()[1], df.get_value('x', 'b'))\n"
        "df.ix[0, 'b'] = 9\ndf.set_value('y', 'b', 8)\nprint(df.b.tolist())\n",
        "2 [1, 4] [2, 1] [3] [[2, 3], [1, 4]]\n(4, 2) [2, 1, 5] [1, 2]\n['a', 'b'] 3.5 3\n[9, 8]\n",
    ),
    "seaborn": (
        "import numpy as np, pandas as pd, seaborn as sns, matplotlib.pyplot as plt\n"
        "df = pd.DataFrame({'a': [1., 2., 4.], 'b': [3., 5., 9.], 'c': list('xyx')})\n"
        "heights = lambda ax: [float(bar.get_height()) for bar in ax.patches]\n"
        "print(heights(sns.countplot(df.c)))\nplt.figure()\n"
        "print(heights(sns.barplot('c', 'b', data=df, ci=None)))\nplt.figure()\n"
        "print(heights(sns.barplot(df.c, df.a, errorbar=None)))\nplt.figure()\n"
        "print(sns.regplot('a', 'b', df).collections[0].get_offsets().tolist())\n"
        "grid = sns.factorplot('c', 'b', data=df, size=3)\n"
        "print(type(grid).__name__, grid.figure.get_size_inches().tolist()[1])\n"
        "plt.figure()\nprint(sns.tsplot(data=[[0, 2], [2, 6]]).lines[0].get_ydata().tolist())\nplt.figure()\n"
        "print(len(sns.kdeplot(np.random.RandomState(0).randn(50, 2), shade=True).lines))\nplt.figure()\n"
        "print(sns.heatmap(df[['a', 'b']], 0, 10).collections[0].get_clim(), sns.boxplot(data=df).get_xlabel())\n",
        "[2.0, 1.0]\n[6.0, 5.0]\n[2.5, 2.0]\n[[1.0, 3.0], [2.0, 5.0], [4.0, 9.0]]\n"
        "FacetGrid 3.0\n[1.0, 4.0]\n0\n(0.0, 10.0) \n",
    ),
}


@pytest.mark.parametrize("text, printed", CASES.values(), ids=CASES)
def test_what_programs_print(text: str, printed: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, text) == printed


WORD_VECTORS = """
import sys, types
import numpy as np

class KeyedVectors:  # as gensim has it since 4.0
    def __init__(self, counts, size):
        self.key_to_index = {word: n for n, word in enumerate(counts)}
        self.index_to_key = list(counts)
        self.vectors = np.ones((len(counts), size), np.float32)
        self._counts = counts
    def get_vecattr(self, word, name):
        return self._counts[word]
    def __getitem__(self, word):
        return self.vectors[self.key_to_index[word]]
    def __contains__(self, word):
        return word in self.key_to_index
    @property
    def vocab(self):
        raise AttributeError("removed in gensim 4.0.0")
    index2word = vocab
"""


def test_models_of_gensim_have_the_names_of_before_4(tmp_path: Path) -> None:
    models = tmp_path / "gensim" / "models"
    models.mkdir(parents=True)
    (tmp_path / "gensim" / "__init__.py").write_text("")
    (models / "__init__.py").write_text("from gensim.models.word2vec import Word2Vec\n")
    (models / "keyedvectors.py").write_text(WORD_VECTORS)
    (models / "word2vec.py").write_text(
        "import collections\nfrom gensim.models.keyedvectors import KeyedVectors\n"
        "class Word2Vec:\n    def __init__(self, sentences, vector_size=100, epochs=5):\n        self.epochs = epochs\n"
        "        counts = collections.Counter(word for each in sentences for word in each)\n"
        "        self.wv = KeyedVectors(dict(counts.most_common()), vector_size)\n"
    )
    text = (
        "from gensim.models import Word2Vec\nmodel = Word2Vec([['a', 'b'], ['a']], size=3, iter=7)\n"
        "print(model['b'].shape, 'c' in model, model.wv.index2word, model.wv.syn0.shape, [*model.vocab], model.iter)\n"
        "print({word: (entry.index, entry.count) for word, entry in model.wv.vocab.items()}, 'b' in model.wv.vocab)\n"
    )
    assert output_of(tmp_path, text) == ("(3,) False ['a', 'b'] (2, 3) ['a', 'b'] 7\n{'a': (0, 2), 'b': (1, 1)} True\n")


def test_the_line_at_the_end_counts_what_the_program_used(tmp_path: Path) -> None:
    text = "import numpy as np\nfor _ in range(3):\n    np.int(1)\nfrom itertools import izip\n"
    (tmp_path / "program.py").write_text(text)
    found = penstock_run(tmp_path, "program.py")
    assert found.stderr == "penstock run: np.int (3 uses); itertools.izip (1 use)\n"


def test_what_setuptools_had_is_there(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "text.txt").write_text("part")
    text = (
        "import pkg_resources\n"
        "from pkg_resources import parse_version, resource_string\n"
        "print(resource_string('parts', 'text.txt'), parse_version('1.10') > parse_version('1.9'))\n"
        "print(pkg_resources.get_distribution('numpy').version == __import__('numpy').__version__)\n"
        "try: pkg_resources.get_distribution('nothing')\nexcept pkg_resources.DistributionNotFound: print('no')\n"
    )
    assert output_of(tmp_path, text) == "b'part' True\nTrue\nno\n"


def test_the_prices_of_houses_are_where_scikit_learn_had_them(tmp_path: Path) -> None:
    text = (
        "from sklearn.datasets import load_boston\nfound = load_boston()\nx, y = load_boston(return_X_y=True)\n"
        "print(found.data.shape, found.target[:3], found.feature_names[-1], (x == found['data']).all(), y.max())\n"
    )
    assert output_of(tmp_path, text) == "(506, 13) [24.  21.6 34.7] LSTAT True 50.0\n"


def test_what_the_program_does_not_import_is_not_imported(tmp_path: Path) -> None:
    libraries = "{'pandas', 'scipy', 'sklearn', 'matplotlib', 'cv2', 'fissix', 'nbformat', 'six', 'torch', 'yaml'}"
    assert output_of(tmp_path, f"import sys\nprint({libraries} & set(sys.modules))\n") == "set()\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import numpy as np\nnp.save('a.npy', np.array([print]))\nnp.load('a.npy')\n", "(builtins.print)"),
        ("from sklearn.datasets import fetch_mldata\nfetch_mldata('MNIST original')\n", "mnist_784"),
        ("import numpy as np\nnp.never\n", "has no attribute 'never'"),
        ("import scipy.misc\nscipy.misc.lena()\n", "scipy.datasets"),
    ],
)
def test_what_cannot_be_given_back_says_what_to_write_instead(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(text)
    found = penstock_run(tmp_path, "program.py")
    assert found.returncode == 1 and told in found.stderr
    assert found.stderr.startswith('Traceback (most recent call last):\n  File "program.py"')


def test_a_file_beside_the_program_does_not_hide_a_module_of_python(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("raise SystemExit('it is a program')\n")
    (tmp_path / "test.py").write_text("WORD = 'the program means this'\n")
    text = (
        "import tensorflow as tf\nimport test\nqueue = tf.FIFOQueue(2, tf.int32)\n"
        "with tf.Session() as session:\n    session.run(queue.enqueue(2))\n"
        "    print(session.run(queue.dequeue()), test.WORD)\n"
    )
    assert output_of(tmp_path, text) == "2 the program means this\n"
    with_digits = penstock_run(tmp_path, "--digits", "program.py")  # which loads libraries before the program
    assert with_digits.stdout == "2 the program means this\n", with_digits.stderr


def test_a_module_of_a_package_runs_as_python_runs_it(tmp_path: Path) -> None:
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "__init__.py").write_text("")
    (tmp_path / "trainer" / "model.py").write_text("SIZE = 3\n")
    text = "import sys\nfrom . import model\nfrom trainer.model import SIZE\nprint(model.SIZE + SIZE, sys.argv[1:])\n"
    (tmp_path / "trainer" / "task.py").write_text(text)
    found = penstock_run(tmp_path, "-m", "trainer.task", "--steps", "2")
    assert (found.stdout, found.returncode) == ("6 ['--steps', '2']\n", 0), found.stderr
    missing = penstock_run(tmp_path, "-m", "trainer.tusk")
    assert missing.returncode == 2 and "trainer/tusk.py" in missing.stderr.replace("\n", "")


def test_a_folder_may_have_its_own_keras(tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("layers = 3\n")
    assert output_of(tmp_path, "import keras\nprint(keras.layers)\n") == "3\n"


def test_a_module_of_a_package_is_told_how_it_runs(tmp_path: Path) -> None:
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "__init__.py").touch()
    (tmp_path / "trainer" / "task.py").write_text("from .model import WORD\nprint(WORD)\n")
    (tmp_path / "trainer" / "model.py").write_text("WORD = 'it runs'\n")
    found = penstock_run(tmp_path, "trainer/task.py")
    assert found.returncode == 1
    assert f"in {tmp_path}, run it with penstock run -m trainer.task" in found.stderr
    assert penstock_run(tmp_path, "-m", "trainer.task").stdout == "it runs\n"


def test_a_package_runs_as_its_main_module(tmp_path: Path) -> None:
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "__init__.py").write_text("")
    (tmp_path / "trainer" / "task.py").write_text("import tensorflow as tf\nname = tf.constant(1).op.name\n")
    (tmp_path / "trainer" / "__main__.py").write_text("from .task import name\nprint(__package__, name)\n")
    assert penstock_run(tmp_path, "-m", "trainer").stdout == "trainer Const\n"


def test_tests_of_a_program_run_under_an_installed_module(tmp_path: Path) -> None:
    (tmp_path / "test_sum.py").write_text(
        "import tensorflow as tf\n"
        "class SumTest(tf.test.TestCase):\n"
        "    def test_sum(self):\n"
        "        with self.test_session():\n"
        "            self.assertAllEqual(tf.add(1, 2), 3)\n"
        "    def test_other_sum(self):\n"
        "        self.assertAllEqual(tf.add(1, 2), 4)\n"
    )
    found = penstock_run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sum.py")
    assert found.returncode == 1 and "1 failed, 1 passed" in found.stdout


def test_libraries_are_put_right_once_where_penstock_is_imported_twice(tmp_path: Path) -> None:
    text = (
        "import sys\nimport networkx\n"
        "for name in [name for name in sys.modules if name.split('.')[0] == 'penstock']:\n    del sys.modules[name]\n"
        "from penstock.programs import running\nrunning.prepare()\nprint(networkx.Graph().nodes())\n"
    )
    assert output_of(tmp_path, text) == "[]\n"


def test_functions_of_ruamel_yaml_read_and_write(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    text = (
        "import ruamel.yaml as yaml\n"
        "print(yaml.safe_load('{a: 1, b: [2]}'), yaml.load('x: 1e3', Loader=yaml.SafeLoader))\n"
        "print(repr(yaml.dump({'a': 1, 'b': [1, 2]}, default_flow_style=False)))\n"
        "with open('a.yaml', 'w') as file:\n    yaml.safe_dump({'c': [3]}, file)\n"
        "print(yaml.safe_load(open('a.yaml')), yaml.round_trip_load('d: 4')['d'])\n"
        "class Made:\n    pass\n"
        "text = yaml.dump({'kind': dict, 'made': Made()})\nprint(yaml.load(text, Loader=yaml.Loader)['kind'])\n"
        "try: yaml.load(text)\nexcept yaml.constructor.ConstructorError: print('refused')\n"
    )
    printed = "{'a': 1, 'b': [2]} {'x': 1000.0}\n'a: 1\\nb:\\n- 1\\n- 2\\n'\n{'c': [3]} 4\n<class 'dict'>\nrefused\n"
    assert output_of(tmp_path, text) == printed


def test_what_cpuinfo_finds_has_its_keys_of_then(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo.py").write_text(
        "def get_cpu_info():\n    return {'brand_raw': 'A CPU', 'hz_advertised': (2900000000, 0), 'count': 4}\n"
    )
    text = (
        "import cpuinfo\ninfo = cpuinfo.get_cpu_info()\nprint(info['brand'], info['hz_advertised_raw'][0], len(info))\n"
    )
    assert output_of(tmp_path, text) == "A CPU 2900000000 5\n"


def test_an_installed_library_for_tensorflow_gets_the_arrays_of_then_and_others_do_not(tmp_path: Path) -> None:
    library = tmp_path / "site" / "library"
    library.mkdir(parents=True)
    (tmp_path / "site" / "today.py").write_text(
        "import numpy as np\ndef copied(x):\n    return np.array(x, copy=False)\n"
    )
    (library / "__init__.py").write_text("import tensorflow as tf\n")
    (library / "buffers.py").write_text("import numpy as np\ndef copied(x):\n    return np.array(x, copy=False)\n")
    text = (
        f"import site, sys\nsite.getusersitepackages = lambda: {str(tmp_path / 'site')!r}\n"
        "from penstock.programs import places\nplaces._libraries.cache_clear()\nplaces.is_of_program.cache_clear()\n"
        f"sys.path.append({str(tmp_path / 'site')!r})\n"
        "from library.buffers import copied\nimport today\nprint(copied([1, 2]).sum())\n"
        "try:\n    today.copied([1, 2])\nexcept ValueError:\n    print('refused')\n"
    )
    assert output_of(tmp_path, text) == "3\nrefused\n"


def test_a_range_of_floats_that_are_whole_is_one_of_numbers() -> None:
    def of_today(self: None, *bounds: object) -> int:  # since Python 3.12
        if any(isinstance(each, float) for each in bounds):
            raise TypeError("'float' object cannot be interpreted as an integer")
        return len(range(*map(operator.index, bounds)))

    randrange = of_whole_floats(of_today)
    assert (randrange(None, 1e1), randrange(None, 2, np.float64(6.0)), randrange(None, 9)) == (10, 4, 9)
    with pytest.raises(TypeError, match="interpreted as an integer"):
        randrange(None, 0, 2.5)


def test_imp_reloads_modules_and_loads_files(tmp_path: Path) -> None:
    imp = MODULES["imp"].make("imp")  # Python 3.11 has its own
    (tmp_path / "conf.py").write_text("values = [1]\n")
    loaded = imp.load_source("a_conf", str(tmp_path / "conf.py"))
    assert (loaded.values, loaded.__name__, sys.modules.pop("a_conf")) == ([1], "a_conf", loaded)
    assert imp.reload is importlib.reload and imp.new_module("x").__name__ == "x"
